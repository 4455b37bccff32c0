// How much time ranges of any of several lanes cover. A walk goes on in steps: from where everything is accounted for to the
// last end of what runs there, or, when nothing runs, to the next start. A moment is kept every few steps, so that the walk
// can be taken up close before any edge.
#include <cstddef>
#include <new>
#include <variant>
#include <vector>

#include "lane_pixels/lane_pixels.h"
#include "lane_pixels/lane_view.h"

namespace {

using wavescope::elapsed;
using wavescope::kNever;
using wavescope::LaneView;

constexpr int kStepsOfAMoment = 16;
constexpr int kStepsOfAPace = 256;

// One lane of the walk, at its first range that ends after the time that is accounted for.
class Walker {
 public:
  explicit Walker(const WavescopeLane& lane) : lane_(view_of(lane)) {
    begins_ = lane.count > 0 ? lane.starts[0] : kNever;
    ends_ = lane.count > 0 ? end(lane.count - 1) : kNever;
  }

  int64_t begins() const { return begins_; }
  int64_t ends() const { return ends_; }

  bool is_done() const { return is_done_; }
  int64_t next_start() const { return next_start_; }
  int64_t next_end() const { return next_end_; }

  // Fetches what seek() will look at first: in a lane of millions of ranges that is far from everything else.
  void fetch(int64_t time) const {
    std::visit(
        [&](const auto& lane) {
          const int64_t place = lane.expected(time, 0).place;
          __builtin_prefetch(lane.starts() + place);
          __builtin_prefetch(lane.lengths() + place);
        },
        lane_);
  }

  void seek(int64_t time) {
    std::visit([&](const auto& lane) { stand(lane, lane.first_ending_after(time)); }, lane_);
  }

  // Goes on to the first range that ends after `time`, which is mostly the next one.
  void advance(int64_t time) {
    std::visit(
        [&](const auto& lane) {
          int64_t place = place_ + 1;
          for (int near = 0; near < 8 && place < lane.count() && lane.end(place) <= time; ++near) ++place;
          if (place < lane.count() && lane.end(place) <= time) place = lane.first_ending_after(time);
          stand(lane, place);
        },
        lane_);
  }

 private:
  using AnyLane = std::variant<LaneView<uint32_t>, LaneView<uint64_t>>;

  static AnyLane view_of(const WavescopeLane& lane) {
    if (lane.length_bytes == 4) return LaneView<uint32_t>(lane);
    return LaneView<uint64_t>(lane);
  }

  int64_t end(int64_t place) const {
    return std::visit([&](const auto& lane) { return lane.end(place); }, lane_);
  }

  template <typename Lane>
  void stand(const Lane& lane, int64_t place) {
    place_ = place;
    is_done_ = place >= lane.count();
    next_start_ = is_done_ ? kNever : lane.start(place);
    next_end_ = is_done_ ? kNever : lane.end(place);
  }

  AnyLane lane_;
  int64_t begins_ = kNever;
  int64_t ends_ = kNever;
  int64_t place_ = 0;
  bool is_done_ = true;
  int64_t next_start_ = kNever;
  int64_t next_end_ = kNever;
};

class Walk {
 public:
  Walk(const WavescopeLane* lanes, int32_t lane_count) {
    for (int32_t number = 0; number < lane_count; ++number) {
      if (lanes[number].count > 0) all_.emplace_back(lanes[number]);
    }
    std::sort(all_.begin(), all_.end(), [](const Walker& a, const Walker& b) { return a.begins() < b.begins(); });
    open_.reserve(all_.size());
  }

  int64_t time() const { return time_; }
  uint64_t covered() const { return covered_; }

  // Takes up the walk at a time before which `covered` is covered.
  void seek(int64_t time, uint64_t covered) {
    time_ = time;
    covered_ = covered;
    open_.clear();
    parked_.clear();
    parked_until_ = kNever;
    steps_ = 0;
    paced_at_ = time;
    pace_ = std::numeric_limits<uint64_t>::max();
    for (const Walker& walker : all_) {
      if (walker.begins() <= time && walker.ends() > time) walker.fetch(time);
    }
    for (entered_ = 0; entered_ < all_.size() && all_[entered_].begins() <= time; ++entered_) {
      if (all_[entered_].ends() > time) open(all_[entered_]);
    }
  }

  // False when there is nothing after time().
  bool step() {
    int64_t reached = time_;
    int64_t next_start = entered_ < all_.size() ? std::min(parked_until_, all_[entered_].begins()) : parked_until_;
    for (const Walker* walker : open_) {
      const bool runs = walker->next_start() <= time_;
      reached = runs ? std::max(reached, walker->next_end()) : reached;
      next_start = runs ? next_start : std::min(next_start, walker->next_start());
    }
    if (reached > time_) {
      covered_ += elapsed(time_, reached);
    } else if (next_start == kNever) {
      return false;
    } else {
      reached = next_start;
    }
    time_ = reached;
    catch_up();
    if (++steps_ == kStepsOfAPace) {
      pace_ = elapsed(paced_at_, time_);
      paced_at_ = time_;
      steps_ = 0;
      park();
    } else if (time_ >= parked_until_) {
      park();
    }
    return true;
  }

 private:
  void open(Walker& walker) {
    walker.seek(time_);
    if (!walker.is_done()) open_.push_back(&walker);
  }

  void catch_up() {
    std::size_t kept = 0;
    for (Walker* walker : open_) {
      if (walker->next_end() <= time_) walker->advance(time_);
      if (!walker->is_done()) open_[kept++] = walker;
    }
    open_.resize(kept);
    for (; entered_ < all_.size() && all_[entered_].begins() <= time_; ++entered_) open(all_[entered_]);
  }

  // Lanes whose next range is far ahead are not looked at in every step.
  void park() {
    const uint64_t left = elapsed(time_, kNever);
    const int64_t horizon = pace_ < left ? static_cast<int64_t>(static_cast<uint64_t>(time_) + pace_) : kNever;
    for (Walker* walker : parked_) {
      // Others may have run beyond the range at which it was parked.
      if (walker->next_end() <= time_) walker->advance(time_);
      if (!walker->is_done()) open_.push_back(walker);
    }
    const auto far =
        std::partition(open_.begin(), open_.end(), [&](const Walker* walker) { return walker->next_start() <= horizon; });
    parked_.assign(far, open_.end());
    open_.erase(far, open_.end());
    parked_until_ = kNever;
    for (const Walker* walker : parked_) parked_until_ = std::min(parked_until_, walker->next_start());
  }

  std::vector<Walker> all_;  // by their first starts
  std::size_t entered_ = 0;  // how many of them begin no later than time_
  std::vector<Walker*> open_;
  std::vector<Walker*> parked_;
  int64_t parked_until_ = kNever;
  int steps_ = 0;
  int64_t paced_at_ = 0;
  uint64_t pace_ = 0;  // how far the walk came in its last kStepsOfAPace steps
  int64_t time_ = 0;
  uint64_t covered_ = 0;
};

// The time that is covered before edges that never decrease.
class CoveredBefore {
 public:
  CoveredBefore(Walk& walk, const int64_t* moments, const uint64_t* before, int64_t count)
      : walk_(walk), moments_(moments), before_(before), stop_(moments + count), next_(moments) {}

  uint64_t at(int64_t edge) {
    const int64_t* after = std::upper_bound(next_, stop_, edge);
    if (after == moments_) return 0;
    if (after != next_) {
      next_ = after;
      const int64_t* last = after - 1;
      seek(*last, before_[last - moments_]);
    }
    while (walk_.time() < edge) {
      earlier_ = {walk_.time(), walk_.covered()};
      if (!walk_.step()) return walk_.covered();
    }
    // The last step may have gone beyond the edge: all of it was covered, or nothing.
    const bool is_covered = walk_.covered() > earlier_.covered;
    return earlier_.covered + (is_covered ? elapsed(earlier_.time, std::min(edge, walk_.time())) : 0);
  }

 private:
  struct Place {
    int64_t time;
    uint64_t covered;
  };

  void seek(int64_t time, uint64_t covered) {
    walk_.seek(time, covered);
    earlier_ = {time, covered};
  }

  Walk& walk_;
  const int64_t* moments_;
  const uint64_t* before_;
  const int64_t* stop_;
  const int64_t* next_;  // the first moment behind the last edge
  Place earlier_{0, 0};
};

bool are_usable(const WavescopeLane* lanes, int32_t lane_count) {
  return std::all_of(lanes, lanes + lane_count, wavescope::is_usable);
}

}  // namespace

int64_t wavescope_cover_moments(const WavescopeLane* lanes, int32_t lane_count, int64_t* from, uint64_t* covered,
                                int64_t room, int64_t* moments, uint64_t* before) {
  if (!are_usable(lanes, lane_count)) return -1;
  try {
    Walk walk(lanes, lane_count);
    walk.seek(*from, *covered);
    int64_t stored = 0;
    bool goes_on = true;
    while (goes_on && stored < room) {
      moments[stored] = walk.time();
      before[stored] = walk.covered();
      ++stored;
      for (int steps = 0; goes_on && steps < kStepsOfAMoment; ++steps) goes_on = walk.step();
    }
    *from = walk.time();
    *covered = walk.covered();
    return stored;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

int wavescope_cover_times(const WavescopeLane* lanes, int32_t lane_count, const int64_t* moments, const uint64_t* before,
                          int64_t moment_count, const int64_t* edges, int64_t pixel_count, uint64_t* times) {
  if (!are_usable(lanes, lane_count)) return 1;
  try {
    Walk walk(lanes, lane_count);
    CoveredBefore covered(walk, moments, before, moment_count);
    uint64_t left = covered.at(edges[0]);
    for (int64_t pixel = 0; pixel < pixel_count; ++pixel) {
      const uint64_t right = covered.at(edges[pixel + 1]);
      times[pixel] = right - left;
      left = right;
    }
    return 0;
  } catch (const std::bad_alloc&) {
    return 1;
  }
}
