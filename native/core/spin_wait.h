// Waits for another thread that needs a few instructions. When that takes longer it sleeps, as the other one may be waiting
// for the processor.
#ifndef WAVESCOPE_CORE_SPIN_WAIT_H
#define WAVESCOPE_CORE_SPIN_WAIT_H

#include <cstdint>

#include "core/not_cancelled.h"
#include "core/spin_pause.h"

namespace wavescope {

class SpinWait {
 public:
  void a_moment() {
    if (++moments_ > kMostSpins) sleep_not_cancelled(kSleepUs);
    else spin_pause();
  }

 private:
  static constexpr uint32_t kMostSpins = 1000;
  static constexpr useconds_t kSleepUs = 50;
  uint32_t moments_ = 0;
};

}  // namespace wavescope

#endif
