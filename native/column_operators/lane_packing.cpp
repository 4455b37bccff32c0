// Lanes for ranges that overlap: one walk in order of start that keeps when each lane is free again.
#include <cstddef>

#include "column_operators/column_operators.h"

namespace {

constexpr int32_t kNoLane = 255;

// The first lane that is free at `start`, `lane_count` when none is.
int32_t first_free(const int64_t* free_at, int32_t lane_count, int64_t start) {
  int32_t lane = 0;
  while (lane < lane_count && free_at[lane] > start) ++lane;
  return lane;
}

// The lane below the deepest that is still taken at `start`. No lane below `open` is taken, which stays true.
int32_t below_all_open(const int64_t* free_at, int32_t& open, int64_t start) {
  while (open > 0 && free_at[open - 1] <= start) --open;
  return open;
}

}  // namespace

int64_t wavescope_pack_lanes(const int64_t* starts, const int64_t* ends, int64_t count, int32_t is_nested, int64_t* free_at,
                             int32_t lane_count, uint8_t* lanes) {
  if (lane_count < 1 || lane_count >= kNoLane) return -1;
  int64_t left_out = 0;
  int32_t open = lane_count;
  for (int64_t row = 0; row < count; ++row) {
    const int64_t start = starts[row];
    const int32_t lane = is_nested != 0 ? below_all_open(free_at, open, start) : first_free(free_at, lane_count, start);
    if (lane == lane_count) {
      lanes[row] = kNoLane;
      ++left_out;
      continue;
    }
    lanes[row] = static_cast<uint8_t>(lane);
    free_at[lane] = ends[row] < start ? start : ends[row];
    open = lane + 1;
  }
  return left_out;
}
