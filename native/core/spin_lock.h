// A lock for a few instructions, of threads that seldom meet.
#ifndef WAVESCOPE_CORE_SPIN_LOCK_H
#define WAVESCOPE_CORE_SPIN_LOCK_H

#include <atomic>

#include "core/spin_wait.h"

namespace wavescope {

class SpinLock {
 public:
  bool try_lock() { return !is_held_.exchange(true, std::memory_order_acquire); }
  void lock() {
    for (SpinWait wait; !try_lock();) {
      while (is_held_.load(std::memory_order_relaxed)) wait.a_moment();
    }
  }
  void unlock() { is_held_.store(false, std::memory_order_release); }

 private:
  std::atomic<bool> is_held_{false};
};

}  // namespace wavescope

#endif
