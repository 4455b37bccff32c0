#include "group_sort/group_sort.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <new>
#include <vector>

namespace {

constexpr unsigned kDigitBits = 11;
constexpr std::size_t kDigits = std::size_t{1} << kDigitBits;
constexpr std::size_t kSmallGroup = 512;  // below this a comparison sort beats clearing the digit counts

template <typename Offset>
unsigned bit_length(Offset value) {
  unsigned bits = 0;
  while (value != 0) {
    value = static_cast<Offset>(value >> 1);
    ++bits;
  }
  return bits;
}

// Sorts values[0..count) by their digits, lowest first; `spare` is room for as many.
template <typename Offset>
void radix_sort(Offset* values, Offset* spare, std::size_t count) {
  const unsigned bits = bit_length(*std::max_element(values, values + count));
  Offset* from = values;
  Offset* to = spare;
  for (unsigned shift = 0; shift < bits; shift += kDigitBits) {
    std::array<std::size_t, kDigits> places{};
    for (std::size_t i = 0; i < count; ++i) ++places[static_cast<std::size_t>(from[i] >> shift) & (kDigits - 1)];
    std::size_t place = 0;
    for (std::size_t& entry : places) {
      const std::size_t size = entry;
      entry = place;
      place += size;
    }
    for (std::size_t i = 0; i < count; ++i) {
      to[places[static_cast<std::size_t>(from[i] >> shift) & (kDigits - 1)]++] = from[i];
    }
    std::swap(from, to);
  }
  if (from != values) std::copy(from, from + count, values);
}

// Deals the values into their groups as offsets from the lowest one, sorts each group, and writes the values back.
template <typename Offset>
void sort_offsets(const uint16_t* groups, const int64_t* values, std::size_t count, int64_t lowest,
                  const std::vector<std::size_t>& firsts, int64_t* sorted) {
  std::vector<Offset> offsets(count);
  std::vector<Offset> spare(count);
  std::vector<std::size_t> places(firsts.begin(), firsts.end() - 1);
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t offset = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(lowest);
    offsets[places[groups[i]]++] = static_cast<Offset>(offset);
  }
  for (std::size_t group = 0; group + 1 < firsts.size(); ++group) {
    Offset* begin = offsets.data() + firsts[group];
    const std::size_t size = firsts[group + 1] - firsts[group];
    if (size < kSmallGroup) {
      std::sort(begin, begin + size);
    } else {
      radix_sort(begin, spare.data(), size);
    }
  }
  for (std::size_t i = 0; i < count; ++i) {
    sorted[i] = static_cast<int64_t>(static_cast<uint64_t>(lowest) + offsets[i]);
  }
}

bool count_groups(const uint16_t* groups, std::size_t count, std::size_t group_count, int64_t* counts) {
  std::fill(counts, counts + group_count, 0);
  for (std::size_t i = 0; i < count; ++i) {
    if (groups[i] >= group_count) return false;
    ++counts[groups[i]];
  }
  return true;
}

}  // namespace

int wavescope_sort_within_groups(const uint16_t* groups, const int64_t* values, int64_t count, int32_t group_count,
                                 int64_t* sorted, int64_t* counts) {
  if (count < 0 || group_count < 0) return 1;
  const auto rows = static_cast<std::size_t>(count);
  const auto group_limit = static_cast<std::size_t>(group_count);
  if (!count_groups(groups, rows, group_limit, counts)) return 1;
  if (rows == 0) return 0;
  try {
    std::vector<std::size_t> firsts(group_limit + 1, 0);
    for (std::size_t g = 0; g < group_limit; ++g) firsts[g + 1] = firsts[g] + static_cast<std::size_t>(counts[g]);
    const auto [lowest, highest] = std::minmax_element(values, values + rows);
    const uint64_t spread = static_cast<uint64_t>(*highest) - static_cast<uint64_t>(*lowest);
    if (spread <= std::numeric_limits<uint32_t>::max()) {
      sort_offsets<uint32_t>(groups, values, rows, *lowest, firsts, sorted);
    } else {
      sort_offsets<uint64_t>(groups, values, rows, *lowest, firsts, sorted);
    }
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}
