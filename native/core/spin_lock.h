// A lock for a few instructions, of threads that seldom meet. When that takes longer it sleeps, as the thread that has the
// lock may be waiting for the processor.
#ifndef WAVESCOPE_CORE_SPIN_LOCK_H
#define WAVESCOPE_CORE_SPIN_LOCK_H

#include <unistd.h>

#include <atomic>
#include <cstdint>

#include "core/spin_pause.h"

namespace wavescope {

class SpinLock {
 public:
  bool try_lock() { return !is_held_.exchange(true, std::memory_order_acquire); }
  void lock() {
    for (uint32_t tries = 0; !try_lock();) {
      while (is_held_.load(std::memory_order_relaxed)) {
        if (++tries > kTries) usleep(kSleepUs);
        else spin_pause();
      }
    }
  }
  void unlock() { is_held_.store(false, std::memory_order_release); }

 private:
  static constexpr uint32_t kTries = 1000;
  static constexpr useconds_t kSleepUs = 50;
  std::atomic<bool> is_held_{false};
};

}  // namespace wavescope

#endif
