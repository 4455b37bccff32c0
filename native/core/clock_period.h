// How often clocks are read. Readings stay for as long as a process runs, however little of its records is kept: after
// about an hour their period doubles, and again, four times in all.
#ifndef WAVESCOPE_CORE_CLOCK_PERIOD_H
#define WAVESCOPE_CORE_CLOCK_PERIOD_H

#include <algorithm>
#include <cstdint>

namespace wavescope {

constexpr uint64_t clock_period_ns(uint64_t usual_ns, uint64_t reading_count) {
  constexpr uint64_t kReadingsBetween = 18000;
  constexpr uint64_t kMostDoublings = 4;
  return usual_ns << std::min(reading_count / kReadingsBetween, kMostDoublings);
}

}  // namespace wavescope

#endif
