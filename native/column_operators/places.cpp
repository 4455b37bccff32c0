// Where times belong among ascending ones: each is looked for from where the one before it was found.
#include <algorithm>

#include "column_operators/column_operators.h"

namespace {

// Moves `place`, anywhere from 0 to `count`, to the number of values that `is_before` is true for: these come first.
template <typename IsBefore>
int64_t moved(const int64_t* values, int64_t count, int64_t place, IsBefore is_before) {
  int64_t low = place, high = place, step = 1;
  if (place < count && is_before(values[place])) {
    while (high < count && is_before(values[high])) {
      low = high + 1;
      high = count - high > step ? high + step : count;
      step *= 2;
    }
  } else {
    while (low > 0 && !is_before(values[low - 1])) {
      high = low - 1;
      low = low > step ? low - step : 0;
      step *= 2;
    }
  }
  return std::partition_point(values + low, values + high, is_before) - values;
}

}  // namespace

void wavescope_places(const int64_t* values, int64_t count, const int64_t* times, int64_t time_count, int32_t is_right,
                      int64_t* places) {
  int64_t place = 0;
  for (int64_t index = 0; index < time_count; ++index) {
    const int64_t time = times[index];
    if (is_right != 0) {
      place = moved(values, count, place, [time](int64_t value) { return value <= time; });
    } else {
      place = moved(values, count, place, [time](int64_t value) { return value < time; });
    }
    places[index] = place;
  }
}
