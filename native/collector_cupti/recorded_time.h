// When records of kernels were last off, in CUPTI's time.
//
// Launches of a graph that are recorded have times of their own. One that is not recorded writes its times where those of
// the last recorded one are (seen with CUPTI 13.0), so that of this one only what ended before records went off is right.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_RECORDED_TIME_H
#define WAVESCOPE_COLLECTOR_CUPTI_RECORDED_TIME_H

#include <atomic>
#include <cstdint>

namespace wavescope::cupti {

class RecordedTime {
 public:
  // Right before records go off, and right after they are on again. Any thread.
  void goes_off(uint64_t ticks, bool is_for_slices) {
    is_for_slices_.store(is_for_slices, std::memory_order_relaxed);
    until_.store(UINT64_MAX, std::memory_order_relaxed);
    from_.store(ticks, std::memory_order_release);
  }
  void is_on(uint64_t ticks) { until_.store(ticks, std::memory_order_release); }

  bool is_off() const {
    return until_.load(std::memory_order_acquire) == UINT64_MAX && from_.load(std::memory_order_acquire) != UINT64_MAX;
  }
  // Whether they were off before something that began at `start` had ended.
  bool was_off(uint64_t start, uint64_t end) const {
    return end > from_.load(std::memory_order_acquire) && start < until_.load(std::memory_order_acquire);
  }
  // Whether it went off at the end of a slice, and not for a pause.
  bool is_for_slices() const { return is_for_slices_.load(std::memory_order_relaxed); }

 private:
  std::atomic<uint64_t> from_{UINT64_MAX};  // not yet
  std::atomic<uint64_t> until_{UINT64_MAX};
  std::atomic<bool> is_for_slices_{false};
};

}  // namespace wavescope::cupti

#endif
