// Time as every stream stores it: nanoseconds of CLOCK_BOOTTIME, which is also ROCr's system domain.
#ifndef WAVESCOPE_CORE_CLOCK_H
#define WAVESCOPE_CORE_CLOCK_H

#include <time.h>

#include <cstdint>

namespace wavescope {

inline uint64_t nanoseconds_of(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<uint64_t>(now.tv_sec) * 1000000000u + static_cast<uint64_t>(now.tv_nsec);
}

inline uint64_t boottime_ns() { return nanoseconds_of(CLOCK_BOOTTIME); }
inline uint64_t thread_cpu_ns() { return nanoseconds_of(CLOCK_THREAD_CPUTIME_ID); }

}  // namespace wavescope

#endif
