// Lanes for slices that overlap on one track; see trace_encoder.h.

#include <cstddef>
#include <functional>
#include <new>
#include <queue>
#include <utility>
#include <vector>

#include "trace_encoder/trace_encoder.h"

namespace {

// Nested slices are looked for on this many lanes; beyond, lanes are flat, so that no input costs more than this per row.
constexpr std::size_t kNestedLanes = 32;

template <typename Value>
using SmallestFirst = std::priority_queue<Value, std::vector<Value>, std::greater<Value>>;

// Gives each slice the lowest lane that is free at its start.
class FlatLanes {
 public:
  std::int32_t place(std::int64_t start_ns, std::int64_t end_ns) {
    while (!busy_.empty() && busy_.top().first <= start_ns) {
      free_.push(busy_.top().second);
      busy_.pop();
    }
    std::int32_t lane = lane_count_;
    if (free_.empty()) {
      ++lane_count_;
    } else {
      lane = free_.top();
      free_.pop();
    }
    busy_.emplace(end_ns, lane);
    return lane;
  }

 private:
  SmallestFirst<std::pair<std::int64_t, std::int32_t>> busy_;
  SmallestFirst<std::int32_t> free_;
  std::int32_t lane_count_ = 0;
};

// Gives each slice the lowest lane on which it crosses nothing; it may lie inside what is open there.
class NestedLanes {
 public:
  std::int32_t place(std::int64_t start_ns, std::int64_t end_ns) {
    for (std::size_t lane = 0; lane < kNestedLanes; ++lane) {
      if (lane == open_ends_.size()) {
        open_ends_.emplace_back();
      }
      std::vector<std::int64_t>& open = open_ends_[lane];
      while (!open.empty() && open.back() <= start_ns) {
        open.pop_back();
      }
      if (open.empty() || open.back() >= end_ns) {
        open.push_back(end_ns);
        return static_cast<std::int32_t>(lane);
      }
    }
    return static_cast<std::int32_t>(kNestedLanes) + beyond_.place(start_ns, end_ns);
  }

 private:
  std::vector<std::vector<std::int64_t>> open_ends_;
  FlatLanes beyond_;
};

template <typename Lanes>
void assign(std::vector<Lanes>& tracks, std::int64_t rows, const std::int32_t* track, const std::int64_t* start_ns,
            const std::int64_t* end_ns, std::int32_t* lane) {
  for (std::int64_t row = 0; row < rows; ++row) {
    const auto index = static_cast<std::size_t>(track[row]);
    if (index >= tracks.size()) {
      tracks.resize(index + 1);
    }
    lane[row] = tracks[index].place(start_ns[row], end_ns[row]);
  }
}

}  // namespace

struct WavescopeLanes {
  bool nested = false;
  std::vector<FlatLanes> flat_tracks;
  std::vector<NestedLanes> nested_tracks;
};

extern "C" WavescopeLanes* wavescope_lanes_open(int nested) {
  auto* lanes = new (std::nothrow) WavescopeLanes();
  if (lanes != nullptr) {
    lanes->nested = nested != 0;
  }
  return lanes;
}

extern "C" void wavescope_lanes_close(WavescopeLanes* lanes) { delete lanes; }

extern "C" int wavescope_lanes_assign(WavescopeLanes* lanes, std::int64_t rows, const std::int32_t* track,
                                      const std::int64_t* start_ns, const std::int64_t* end_ns, std::int32_t* lane) {
  for (std::int64_t row = 0; row < rows; ++row) {
    if (track[row] < 0) {
      return -1;
    }
  }
  try {
    if (lanes->nested) {
      assign(lanes->nested_tracks, rows, track, start_ns, end_ns, lane);
    } else {
      assign(lanes->flat_tracks, rows, track, start_ns, end_ns, lane);
    }
  } catch (const std::bad_alloc&) {
    return -1;
  }
  return 0;
}
