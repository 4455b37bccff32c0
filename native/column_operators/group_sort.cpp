// Values sorted within groups: put to their groups, then sorted by digits group by group.
#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <new>
#include <utility>
#include <vector>

#include "column_operators/column_operators.h"
#include "column_operators/group_counts.h"

namespace {

using wavescope::column_operators::count_groups;

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

// Deals the values to their groups as offsets from the lowest one, and sorts each group.
template <typename Offset, typename Value>
void sort_offsets(const uint16_t* groups, const Value* values, std::size_t count, Value lowest,
                  const std::vector<std::size_t>& sizes, Offset* sorted) {
  std::vector<std::size_t> places;
  std::size_t largest = 0;
  std::size_t place = 0;
  for (const std::size_t size : sizes) {
    places.push_back(place);
    place += size;
    largest = std::max(largest, size);
  }
  for (std::size_t i = 0; i < count; ++i) {
    const uint64_t offset = static_cast<uint64_t>(values[i]) - static_cast<uint64_t>(lowest);
    sorted[places[groups[i]]++] = static_cast<Offset>(offset);
  }
  std::vector<Offset> spare(largest);
  for (std::size_t group = 0; group < sizes.size(); ++group) {
    Offset* const end = sorted + places[group];
    Offset* const begin = end - sizes[group];
    if (sizes[group] < kSmallGroup) {
      std::sort(begin, end);
    } else {
      radix_sort(begin, spare.data(), sizes[group]);
    }
  }
}

template <typename Offset>
void sort_wide(const uint16_t* groups, const int64_t* values, std::size_t count, int64_t lowest,
               const std::vector<std::size_t>& sizes, int64_t* sorted) {
  std::vector<Offset> offsets(count);
  sort_offsets(groups, values, count, lowest, sizes, offsets.data());
  for (std::size_t i = 0; i < count; ++i) {
    sorted[i] = static_cast<int64_t>(static_cast<uint64_t>(lowest) + offsets[i]);
  }
}

// Counts the groups and, when all is well, hands their sizes to `sort`; what the C functions return.
template <typename Sort>
int sort_counted(const uint16_t* groups, int64_t count, int32_t group_count, int64_t* counts, const Sort& sort) {
  if (count < 0 || group_count < 0) return 1;
  if (!count_groups(groups, static_cast<std::size_t>(count), static_cast<std::size_t>(group_count), counts)) return 1;
  if (count == 0) return 0;
  try {
    sort(std::vector<std::size_t>(counts, counts + group_count));
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}

}  // namespace

int wavescope_sort_within_groups(const uint16_t* groups, const int64_t* values, int64_t count, int32_t group_count,
                                 int64_t* sorted, int64_t* counts) {
  return sort_counted(groups, count, group_count, counts, [&](const std::vector<std::size_t>& sizes) {
    const auto rows = static_cast<std::size_t>(count);
    const auto [lowest, highest] = std::minmax_element(values, values + rows);
    const uint64_t spread = static_cast<uint64_t>(*highest) - static_cast<uint64_t>(*lowest);
    if (spread <= std::numeric_limits<uint32_t>::max()) {
      sort_wide<uint32_t>(groups, values, rows, *lowest, sizes, sorted);
    } else {
      sort_wide<uint64_t>(groups, values, rows, *lowest, sizes, sorted);
    }
  });
}

int wavescope_sort_short_within_groups(const uint16_t* groups, const uint32_t* values, int64_t count, int32_t group_count,
                                       uint32_t* sorted, int64_t* counts) {
  return sort_counted(groups, count, group_count, counts, [&](const std::vector<std::size_t>& sizes) {
    sort_offsets(groups, values, static_cast<std::size_t>(count), uint32_t{0}, sizes, sorted);
  });
}
