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

template <typename Length>
class EdgeTimes {
 public:
  EdgeTimes(const LaneView<Length>& lane, const uint8_t* classes, const uint8_t* columns, std::size_t column_count,
            const uint64_t* sums)
      : lane_(lane), classes_(classes), columns_(columns), column_count_(column_count), sums_(sums) {}

  // The time of each class before `edge`, counted without an end: only differences of two edges mean something.
  void before(int64_t edge, Times& times) const {
    const int64_t place = lane_.starting_before(edge);
    const int64_t block = place / WAVESCOPE_LANE_BLOCK;
    const int64_t first = block * WAVESCOPE_LANE_BLOCK;
    const int64_t stop = std::min(lane_.count(), first + WAVESCOPE_LANE_BLOCK);
    if (place - first <= stop - place) {
      take_sums(block, times);
      for (int64_t each = first; each < place; ++each) times[column(each)] += lane_.length(each);
    } else {
      take_sums(block + 1, times);
      for (int64_t each = place; each < stop; ++each) times[column(each)] -= lane_.length(each);
    }
    if (place > 0 && lane_.length(place - 1) > elapsed(lane_.start(place - 1), edge)) {
      times[column(place - 1)] -= lane_.length(place - 1) - elapsed(lane_.start(place - 1), edge);
    }
  }

 private:
  std::size_t column(int64_t place) const { return columns_[classes_[place]]; }

  void take_sums(int64_t block, Times& times) const {
    std::copy_n(sums_ + static_cast<std::size_t>(block) * column_count_, column_count_, times.begin());
  }

  const LaneView<Length>& lane_;
  const uint8_t* classes_;
  const uint8_t* columns_;
  std::size_t column_count_;
  const uint64_t* sums_;
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
    const auto column_total = static_cast<std::size_t>(column_count);
    const auto stride = static_cast<std::size_t>(pixel_count);
    const EdgeTimes edge_times(view, classes, columns, column_total, sums);
    Times left{};
    Times right{};
    edge_times.before(edges[0], left);
    for (std::size_t pixel = 0; pixel < stride; ++pixel) {
      edge_times.before(edges[pixel + 1], right);
      for (std::size_t column = 0; column < column_total; ++column) {
        times[column * stride + pixel] += right[column] - left[column];
      }
      std::swap(left, right);
    }
    return 0;
  });
}
