// Means of a value over time in each pixel: sums over whole blocks of values, and values one by one at the edges.
#include <cmath>
#include <limits>

#include "lane_pixels/lane_pixels.h"
#include "lane_pixels/lane_view.h"

namespace {

using wavescope::elapsed;

struct Sum {
  double known = 0;
  double weighted = 0;

  void add(double value, uint64_t duration) {
    if (std::isnan(value)) return;
    known += static_cast<double>(duration);
    weighted += value * static_cast<double>(duration);
  }
};

class Steps {
 public:
  Steps(const int64_t* times, const double* values, int64_t count, int64_t end)
      : times_(times), values_(values), count_(count), end_(end) {}

  // How many values begin before `time`.
  int64_t beginning_before(int64_t time, int64_t from) const {
    return std::lower_bound(times_ + from, times_ + count_, time) - times_;
  }

  // Adds the part of a value that lies in [from, to).
  void add_part(int64_t place, int64_t from, int64_t to, Sum& sum) const {
    const int64_t begins = std::max(from, times_[place]);
    const int64_t ends = std::min(to, place + 1 < count_ ? times_[place + 1] : std::max(end_, times_[place]));
    if (begins < ends) sum.add(values_[place], elapsed(begins, ends));
  }

 private:
  const int64_t* times_;
  const double* values_;
  int64_t count_;
  int64_t end_;
};

}  // namespace

void wavescope_series_blocks(const int64_t* times, const double* values, int64_t count, double* known, double* weighted) {
  for (int64_t first = 0; first < count; first += WAVESCOPE_LANE_BLOCK) {
    Sum sum;
    const int64_t stop = std::min(count - 1, first + WAVESCOPE_LANE_BLOCK);
    for (int64_t place = first; place < stop; ++place) sum.add(values[place], elapsed(times[place], times[place + 1]));
    known[first / WAVESCOPE_LANE_BLOCK] = sum.known;
    weighted[first / WAVESCOPE_LANE_BLOCK] = sum.weighted;
  }
}

void wavescope_series_means(const int64_t* times, const double* values, int64_t count, int64_t end, const double* known,
                            const double* weighted, const int64_t* edges, int64_t pixel_count, float* means) {
  const Steps steps(times, values, count, end);
  int64_t right = steps.beginning_before(edges[0], 0);
  for (int64_t pixel = 0; pixel < pixel_count; ++pixel) {
    const int64_t from = edges[pixel];
    const int64_t to = edges[pixel + 1];
    int64_t place = std::max<int64_t>(0, right - 1);  // the value that holds at the left edge
    right = steps.beginning_before(to, right);
    Sum sum;
    while (place < right) {
      const int64_t block = place / WAVESCOPE_LANE_BLOCK;
      const int64_t block_stop = (block + 1) * WAVESCOPE_LANE_BLOCK;
      // A whole block: its first value begins in the pixel, and so does the value behind its last.
      if (place == block * WAVESCOPE_LANE_BLOCK && times[place] >= from && block_stop < right) {
        sum.known += known[block];
        sum.weighted += weighted[block];
        place = block_stop;
      } else {
        steps.add_part(place++, from, to, sum);
      }
    }
    means[pixel] = sum.known > 0 ? static_cast<float>(sum.weighted / sum.known) : std::numeric_limits<float>::quiet_NaN();
  }
}
