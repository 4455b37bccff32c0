#include "softgpu/clock.h"

#include <ctime>
#include <utility>

namespace softgpu {

uint64_t SystemClock::now_ns() const {
  timespec time{};
  clock_gettime(CLOCK_BOOTTIME, &time);
  return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000U + static_cast<uint64_t>(time.tv_nsec);
}

GpuClock::GpuClock(uint64_t epoch_ticks, uint64_t start_ns, int64_t drift_ppb, std::vector<ClockJump> jumps)
    : epoch_ticks_(epoch_ticks), start_ns_(start_ns), drift_ppb_(drift_ppb), jumps_(std::move(jumps)) {}

uint64_t GpuClock::ticks(uint64_t host_ns) const {
  constexpr int64_t billion = 1'000'000'000;
  const auto elapsed = static_cast<int64_t>(host_ns - start_ns_);
  // Whole seconds and the rest apart: their product with the drift would not fit 64 bits.
  int64_t shown = elapsed + elapsed / billion * drift_ppb_ + elapsed % billion * drift_ppb_ / billion;
  for (const ClockJump& jump : jumps_) {
    if (elapsed >= static_cast<int64_t>(jump.at_ns)) shown += jump.by_ns;
  }
  return epoch_ticks_ + static_cast<uint64_t>(shown / static_cast<int64_t>(ns_per_gpu_tick));
}

}  // namespace softgpu
