// How long ranges of each class ran in each pixel: sums before blocks, and a part of one block at each edge.
#include <array>
#include <cstddef>

#include "lane_pixels/lane_pixels.h"
#include "lane_pixels/lane_view.h"

namespace {

using wavescope::block_count_of;
using wavescope::elapsed;
using wavescope::LaneView;

constexpr int kClasses = 256;
using Times = std::array<uint64_t, kClasses>;

// The column of each class, as a table that cannot lead out of the columns.
bool are_columns(const uint8_t* columns, int32_t column_count) {
  if (column_count < 1 || column_count > kClasses) return false;
  for (int number = 0; number < kClasses; ++number) {
    if (columns[number] >= column_count) return false;
  }
  return true;
}

template <typename Length>
void sum_blocks(const LaneView<Length>& lane, const uint8_t* classes, const uint8_t* columns, std::size_t column_count,
                uint64_t* sums) {
  Times total{};
  for (int64_t block = 0; block <= lane.block_count(); ++block) {
    std::copy_n(total.begin(), column_count, sums + static_cast<std::size_t>(block) * column_count);
    const int64_t first = block * WAVESCOPE_LANE_BLOCK;
    const int64_t stop = std::min(lane.count(), first + WAVESCOPE_LANE_BLOCK);
    for (int64_t place = first; place < stop; ++place) total[columns[classes[place]]] += lane.length(place);
  }
}

// Goes from edge to edge. What it will need at an edge some way ahead is fetched meanwhile: in a lane of millions of ranges
// each edge lies in memory of its own.
template <typename Length>
class EdgeWalk {
 public:
  EdgeWalk(const LaneView<Length>& lane, const uint8_t* classes, const uint8_t* columns, std::size_t column_count,
           const uint64_t* sums, const int64_t* edges, std::size_t edge_count)
      : lane_(lane),
        classes_(classes),
        columns_(columns),
        column_count_(column_count),
        sums_(sums),
        edges_(edges),
        edge_count_(edge_count) {
    for (std::size_t edge = 0; edge < std::min(kAhead, edge_count); ++edge) expect(edge);
  }

  // Adds the time of each class between each edge and the next.
  void add_times(uint64_t* times) {
    const std::size_t stride = edge_count_ - 1;
    Place left = next(0);
    Times added{};
    for (std::size_t pixel = 0; pixel < stride; ++pixel) {
      const Place right = next(pixel + 1);
      if (right.place != left.place || left.overhang != 0) {
        std::fill_n(added.begin(), column_count_, uint64_t{0});
        add_between(left.place, right.place, added);
        if (left.overhang != 0) added[column(left.place - 1)] += left.overhang;
        if (right.overhang != 0) added[column(right.place - 1)] -= right.overhang;
        for (std::size_t each = 0; each < column_count_; ++each) times[each * stride + pixel] += added[each];
      }
      left = right;
    }
  }

 private:
  using Expected = typename LaneView<Length>::Expected;
  static constexpr std::size_t kAhead = 8;

  // How many ranges start before an edge, and how far the last of them reaches beyond it.
  struct Place {
    int64_t place;
    uint64_t overhang;
  };

  std::size_t column(int64_t place) const { return columns_[classes_[place]]; }

  void expect(std::size_t edge) {
    const Expected at = lane_.expected(edges_[edge], block_ahead_);
    block_ahead_ = at.block();
    ahead_[edge % kAhead] = at;
    if (at.first >= at.stop) return;
    fetch(lane_.starts() + at.place);
    const int64_t near = at.place - at.first <= at.stop - at.place ? at.first : at.stop - 1;
    const int64_t low = std::min(near, at.place);
    const int64_t high = std::max(near, at.place);
    for (int64_t place = low; place <= high; place += kLine / static_cast<int64_t>(sizeof(Length))) {
      fetch(lane_.lengths() + place);
    }
    for (int64_t place = low; place <= high; place += kLine) fetch(classes_ + place);
    fetch(sums_ + static_cast<std::size_t>(at.block() + (near == at.first ? 0 : 1)) * column_count_);
  }

  static constexpr int64_t kLine = 64;
  static void fetch(const void* address) { __builtin_prefetch(address); }

  Place next(std::size_t edge) {
    const int64_t place = lane_.searched(ahead_[edge % kAhead], edges_[edge]);
    if (edge + kAhead < edge_count_) expect(edge + kAhead);
    if (place == 0) return {0, 0};
    const uint64_t length = lane_.length(place - 1);
    const uint64_t inside = elapsed(lane_.start(place - 1), edges_[edge]);
    return {place, length > inside ? length - inside : 0};
  }

  // The whole ranges from one place to another.
  void add_between(int64_t from, int64_t to, Times& added) const {
    if (to - from <= WAVESCOPE_LANE_BLOCK / 2) {
      for (int64_t place = from; place < to; ++place) added[column(place)] += lane_.length(place);
      return;
    }
    const int64_t first = nearest_block(from);
    const int64_t last = nearest_block(to);
    for (std::size_t each = 0; each < column_count_; ++each) added[each] = sum(last, each) - sum(first, each);
    const int64_t first_place = start_of(first);
    const int64_t last_place = start_of(last);
    for (int64_t place = from; place < first_place; ++place) added[column(place)] += lane_.length(place);
    for (int64_t place = first_place; place < from; ++place) added[column(place)] -= lane_.length(place);
    for (int64_t place = last_place; place < to; ++place) added[column(place)] += lane_.length(place);
    for (int64_t place = to; place < last_place; ++place) added[column(place)] -= lane_.length(place);
  }

  // The block whose start is closest to a place; behind the last block, too.
  int64_t nearest_block(int64_t place) const {
    return std::min(lane_.block_count(), (place + WAVESCOPE_LANE_BLOCK / 2) / WAVESCOPE_LANE_BLOCK);
  }

  int64_t start_of(int64_t block) const { return std::min(lane_.count(), block * WAVESCOPE_LANE_BLOCK); }

  uint64_t sum(int64_t block, std::size_t each) const {
    return sums_[static_cast<std::size_t>(block) * column_count_ + each];
  }

  const LaneView<Length>& lane_;
  const uint8_t* classes_;
  const uint8_t* columns_;
  std::size_t column_count_;
  const uint64_t* sums_;
  const int64_t* edges_;
  std::size_t edge_count_;
  std::array<Expected, kAhead> ahead_{};
  int64_t block_ahead_ = 0;
};

}  // namespace

int wavescope_lane_blocks(const WavescopeLane* lane, int64_t* block_starts, uint64_t* longest, uint8_t* has_instant) {
  if (!wavescope::is_usable(*lane)) return 1;
  return wavescope::with_view(*lane, [&](const auto& view) {
    for (int64_t block = 0; block < view.block_count(); ++block) {
      const int64_t first = block * WAVESCOPE_LANE_BLOCK;
      const int64_t stop = std::min(view.count(), first + WAVESCOPE_LANE_BLOCK);
      uint64_t most = 0;
      uint64_t least = view.length(first);
      for (int64_t place = first; place < stop; ++place) {
        most = std::max(most, view.length(place));
        least = std::min(least, view.length(place));
      }
      block_starts[block] = view.start(first);
      longest[block] = most;
      has_instant[block] = least == 0 ? 1 : 0;
    }
    return 0;
  });
}

void wavescope_seen_bytes(const uint8_t* values, int64_t count, uint8_t* seen) {
  std::fill_n(seen, kClasses, static_cast<uint8_t>(0));
  for (int64_t row = 0; row < count; ++row) seen[values[row]] = 1;
}

int wavescope_class_sums(const WavescopeLane* lane, const uint8_t* classes, const uint8_t* columns, int32_t column_count,
                         uint64_t* sums) {
  if (!wavescope::is_usable(*lane) || !are_columns(columns, column_count)) return 1;
  return wavescope::with_view(*lane, [&](const auto& view) {
    sum_blocks(view, classes, columns, static_cast<std::size_t>(column_count), sums);
    return 0;
  });
}

int wavescope_class_times(const WavescopeLane* lane, const uint8_t* classes, const uint8_t* columns, int32_t column_count,
                          const uint64_t* sums, const int64_t* edges, int64_t pixel_count, uint64_t* times) {
  if (!wavescope::is_usable(*lane) || !are_columns(columns, column_count)) return 1;
  if (lane->count == 0) return 0;
  return wavescope::with_view(*lane, [&](const auto& view) {
    EdgeWalk walk(view, classes, columns, static_cast<std::size_t>(column_count), sums, edges,
                  static_cast<std::size_t>(pixel_count) + 1);
    walk.add_times(times);
    return 0;
  });
}
