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
  int64_t starting_before(int64_t time) const { return searched(expected(time, 0), time); }

  // The first range that ends after `time`; count() when there is none.
  int64_t first_ending_after(int64_t time) const {
    const int64_t place = time == kNever ? count_ : starting_before(time + 1);
    return place > 0 && end(place - 1) > time ? place - 1 : place;
  }

  // Where a time lies by the starts of the blocks alone, which are close together in memory.
  struct Expected {
    int64_t first;  // of the block that the last range which starts before the time is in
    int64_t stop;
    int64_t place;  // in it, if starts were evenly spread
    int64_t block() const { return first / WAVESCOPE_LANE_BLOCK; }
  };

  // `from`: a block that begins before the time, or 0.
  Expected expected(int64_t time, int64_t from) const {
    const int64_t block = std::max<int64_t>(0, first_block_not_before(time, from) - 1);
    const int64_t first = block * WAVESCOPE_LANE_BLOCK;
    const int64_t stop = std::min(count_, first + WAVESCOPE_LANE_BLOCK);
    if (first >= stop || block_starts_[block] >= time) return {first, stop, first};
    if (block + 1 == block_count_) return {first, stop, first + (stop - first) / 2};
    const auto width = static_cast<double>(elapsed(block_starts_[block], block_starts_[block + 1]));
    const auto part = static_cast<double>(elapsed(block_starts_[block], time)) / width;  // 1 at most
    return {first, stop, first + static_cast<int64_t>(part * (WAVESCOPE_LANE_BLOCK - 1))};
  }

  // How many ranges start before the time that is expected there.
  int64_t searched(const Expected& at, int64_t time) const {
    if (at.first >= at.stop) return at.stop;
    int64_t low = at.first;
    int64_t high = at.stop;
    if (starts_[at.place] < time) {
      low = at.place + 1;
      for (int64_t step = 1; low + step < high; step *= 2) {
        if (starts_[low + step] >= time) {
          high = low + step;
        } else {
          low += step + 1;
        }
      }
    } else {
      high = at.place;
      for (int64_t step = 1; high - step > low; step *= 2) {
        if (starts_[high - step] < time) {
          low = high - step + 1;
        } else {
          high -= step;
        }
      }
    }
    return std::lower_bound(starts_ + low, starts_ + high, time) - starts_;
  }

  const int64_t* starts() const { return starts_; }
  const Length* lengths() const { return lengths_; }

 private:
  // Looks close to `from` first.
  int64_t first_block_not_before(int64_t time, int64_t from) const {
    int64_t low = from;
    int64_t high = block_count_;
    for (int64_t step = 1; low + step < high; step *= 2) {
      if (block_starts_[low + step] >= time) {
        high = low + step;
        break;
      }
      low += step;
    }
    return std::lower_bound(block_starts_ + low, block_starts_ + high, time) - block_starts_;
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
