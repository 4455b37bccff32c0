// A lane whose lengths are of one type: the passes over lanes are templates over it.
#ifndef WAVESCOPE_LANE_VIEW_H
#define WAVESCOPE_LANE_VIEW_H

#include <algorithm>
#include <cstdint>
#include <limits>

#include "lane_pixels/lane_pixels.h"

namespace wavescope {

constexpr int64_t kNever = std::numeric_limits<int64_t>::max();

// Times are subtracted without signs: a difference of any two fits.
inline uint64_t elapsed(int64_t from, int64_t to) { return static_cast<uint64_t>(to) - static_cast<uint64_t>(from); }

inline int64_t block_count_of(int64_t count) { return (count + WAVESCOPE_LANE_BLOCK - 1) / WAVESCOPE_LANE_BLOCK; }

template <typename Length>
class LaneView {
 public:
  explicit LaneView(const WavescopeLane& lane)
      : starts_(lane.starts),
        lengths_(static_cast<const Length*>(lane.lengths)),
        count_(lane.count),
        block_starts_(lane.block_starts),
        block_count_(block_count_of(lane.count)) {}

  int64_t count() const { return count_; }
  int64_t block_count() const { return block_count_; }
  int64_t start(int64_t place) const { return starts_[place]; }
  uint64_t length(int64_t place) const { return lengths_[place]; }
  int64_t end(int64_t place) const {
    return static_cast<int64_t>(static_cast<uint64_t>(starts_[place]) + static_cast<uint64_t>(lengths_[place]));
  }

  // How many ranges start before `time`.
  int64_t starting_before(int64_t time) const {
    const int64_t block = std::lower_bound(block_starts_, block_starts_ + block_count_, time) - block_starts_;
    return block == 0 ? 0 : within_block(block - 1, time);
  }

  // The first range that ends after `time`; count() when there is none.
  int64_t first_ending_after(int64_t time) const {
    const int64_t place = time == kNever ? count_ : starting_before(time + 1);
    return place > 0 && end(place - 1) > time ? place - 1 : place;
  }

 private:
  // The same within a block whose first range starts before `time`; later blocks start no sooner.
  int64_t within_block(int64_t block, int64_t time) const {
    const int64_t first = block * WAVESCOPE_LANE_BLOCK;
    const int64_t stop = std::min(count_, first + WAVESCOPE_LANE_BLOCK);
    return std::lower_bound(starts_ + first, starts_ + stop, time) - starts_;
  }

  const int64_t* starts_;
  const Length* lengths_;
  int64_t count_;
  const int64_t* block_starts_;
  int64_t block_count_;
};

inline bool is_usable(const WavescopeLane& lane) {
  return lane.count >= 0 && (lane.length_bytes == 4 || lane.length_bytes == 8);
}

// Calls `pass` with the view of a usable lane.
template <typename Pass>
auto with_view(const WavescopeLane& lane, Pass pass) {
  return lane.length_bytes == 4 ? pass(LaneView<uint32_t>(lane)) : pass(LaneView<uint64_t>(lane));
}

}  // namespace wavescope

#endif
