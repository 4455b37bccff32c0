// How many rows each group has.
#ifndef WAVESCOPE_COLUMN_OPERATORS_GROUP_COUNTS_H
#define WAVESCOPE_COLUMN_OPERATORS_GROUP_COUNTS_H

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace wavescope::column_operators {

// False when a group number is out of range.
inline bool count_groups(const uint16_t* groups, std::size_t rows, std::size_t group_count, int64_t* counts) {
  std::fill(counts, counts + group_count, 0);
  for (std::size_t row = 0; row < rows; ++row) {
    if (groups[row] >= group_count) return false;
    ++counts[groups[row]];
  }
  return true;
}

}  // namespace wavescope::column_operators

#endif
