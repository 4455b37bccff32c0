// Which range lies inside which: one walk over ranges in opening order that keeps those which may still be parents.
#include <new>
#include <vector>

#include "column_operators/column_operators.h"

int wavescope_nest(const int64_t* starts, const int64_t* ends, const int64_t* lanes, int64_t count, int64_t* parents,
                   int64_t* depths) {
  try {
    // A range that ends before the current one does can contain no later range that the current one does not contain:
    // ends on the stack never increase towards its top.
    std::vector<int64_t> open;
    for (int64_t row = 0; row < count; ++row) {
      if (row > 0 && lanes[row] != lanes[row - 1]) open.clear();
      const bool is_instant = starts[row] == ends[row];
      while (!open.empty()) {
        const int64_t reached = ends[open.back()];
        if (is_instant ? reached > ends[row] : reached >= ends[row]) break;
        open.pop_back();
      }
      const int64_t parent = open.empty() ? -1 : open.back();
      parents[row] = parent;
      depths[row] = parent < 0 ? 0 : depths[parent] + 1;
      if (!is_instant) open.push_back(row);
    }
    return 0;
  } catch (const std::bad_alloc&) {
    return 1;
  }
}
