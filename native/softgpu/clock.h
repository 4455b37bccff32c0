// Two clocks: the host's, in which the time line is kept, and each GPU's own counter.
#ifndef WAVESCOPE_SOFTGPU_CLOCK_H
#define WAVESCOPE_SOFTGPU_CLOCK_H

#include <cstdint>
#include <vector>

namespace softgpu {

constexpr uint64_t never_ns = UINT64_MAX;
constexpr uint64_t gpu_clock_hz = 100'000'000;
constexpr uint64_t ns_per_gpu_tick = 1'000'000'000 / gpu_clock_hz;

// Where the engine gets the time from; tests put a clock of their own in its place.
class Clock {
 public:
  virtual ~Clock() = default;
  virtual uint64_t now_ns() const = 0;
};

// CLOCK_BOOTTIME, the clock to which ROCr converts the timestamps of a GPU.
class SystemClock final : public Clock {
 public:
  uint64_t now_ns() const override;
};

struct ClockJump {
  uint64_t at_ns;  // after the start
  int64_t by_ns;
};

// A 100 MHz counter with an epoch of its own, which may drift against the host's clock and jump.
class GpuClock {
 public:
  GpuClock(uint64_t epoch_ticks, uint64_t start_ns, int64_t drift_ppb, std::vector<ClockJump> jumps);
  uint64_t ticks(uint64_t host_ns) const;
  // When the counter last ticked: pairs of readings at ticks tell its rate exactly, however close they are.
  uint64_t last_tick_ns(uint64_t host_ns) const { return host_ns - (host_ns - start_ns_) % ns_per_gpu_tick; }

 private:
  uint64_t epoch_ticks_;
  uint64_t start_ns_;
  int64_t drift_ppb_;
  std::vector<ClockJump> jumps_;
};

}  // namespace softgpu

#endif
