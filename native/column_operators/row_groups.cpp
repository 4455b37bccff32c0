// Counting codes, and putting rows to their groups.
#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "column_operators/column_operators.h"
#include "column_operators/group_counts.h"

namespace {

using wavescope::column_operators::count_groups;

template <typename Value>
void put_together(const uint16_t* groups, std::size_t rows, std::vector<std::size_t> places,
                  const WavescopeGroupedColumn& column) {
  const Value* const from = static_cast<const Value*>(column.from);
  Value* const to = static_cast<Value*>(column.to);
  for (std::size_t row = 0; row < rows; ++row) to[places[groups[row]]++] = from[row];
}

// Where each group begins; empty when `order` does not list every group once.
std::vector<std::size_t> first_places(const int64_t* counts, std::size_t group_count, const int32_t* order) {
  std::vector<std::size_t> places(group_count, 0);
  std::vector<bool> is_listed(group_count, false);
  std::size_t place = 0;
  for (std::size_t index = 0; index < group_count; ++index) {
    const auto group = static_cast<std::size_t>(order[index]);
    if (order[index] < 0 || group >= group_count || is_listed[group]) return {};
    is_listed[group] = true;
    places[group] = place;
    place += static_cast<std::size_t>(counts[group]);
  }
  return places;
}

}  // namespace

int wavescope_count_codes(const int32_t* codes, int64_t count, int32_t code_count, int64_t* counts) {
  if (count < 0 || code_count < 0) return 1;
  const auto limit = static_cast<std::size_t>(code_count);
  try {
    // Two counters for each code: equal codes often follow one another, and would wait for each other's sum.
    std::vector<int64_t> others(limit, 0);
    std::fill(counts, counts + limit, 0);
    int64_t row = 0;
    for (; row + 1 < count; row += 2) {
      const int32_t left = codes[row];
      const int32_t right = codes[row + 1];
      if (left >= code_count || right >= code_count) return 1;
      if (left >= 0) ++counts[left];
      if (right >= 0) ++others[static_cast<std::size_t>(right)];
    }
    if (row < count) {
      if (codes[row] >= code_count) return 1;
      if (codes[row] >= 0) ++counts[codes[row]];
    }
    for (std::size_t code = 0; code < limit; ++code) counts[code] += others[code];
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}

int wavescope_group_rows(const uint16_t* groups, int64_t count, int32_t group_count, const int32_t* order,
                         const WavescopeGroupedColumn* columns, int32_t column_count, int64_t* counts) {
  if (count < 0 || group_count < 0 || column_count < 0) return 1;
  const auto rows = static_cast<std::size_t>(count);
  const auto group_limit = static_cast<std::size_t>(group_count);
  try {
    if (!count_groups(groups, rows, group_limit, counts)) return 1;
    const std::vector<std::size_t> places = first_places(counts, group_limit, order);
    if (places.size() != group_limit) return 1;
    for (int32_t index = 0; index < column_count; ++index) {
      const WavescopeGroupedColumn& column = columns[index];
      if (column.value_bytes == 1) {
        put_together<uint8_t>(groups, rows, places, column);
      } else if (column.value_bytes == 4) {
        put_together<uint32_t>(groups, rows, places, column);
      } else if (column.value_bytes == 8) {
        put_together<uint64_t>(groups, rows, places, column);
      } else {
        return 1;
      }
    }
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}
