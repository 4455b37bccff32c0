// Faults on request: what hardware rarely shows and a profiler must survive.
//
// A specification is KIND[,key=value]...; several are separated by ';'. Kinds that concern dispatches take
// kernel=PATTERN, gpu=N, after=N (skip the first N), every=N and count=N; see docs/software-gpu.md.
#ifndef WAVESCOPE_SOFTGPU_FAULTS_H
#define WAVESCOPE_SOFTGPU_FAULTS_H

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <vector>

#include "softgpu/clock.h"
#include "softgpu/text_pattern.h"

namespace softgpu {

enum class FaultKind : uint8_t {
  hang,
  fail,
  lost_timestamps,
  equal_timestamps,
  reversed_timestamps,
  slow_interrupt,
  queue_error,
  clock_jump,
  clock_drift,
};

const char* fault_name(FaultKind kind);

struct Fault {
  FaultKind kind{};
  TextPattern kernel;
  int64_t gpu = -1;  // all
  uint64_t after = 0;
  uint64_t every = 1;
  uint64_t count = UINT64_MAX;
  uint64_t delay_ns = 0;    // hang (0: for ever), slow_interrupt
  uint32_t error_code = 0;  // fail, queue_error
  ClockJump jump{};
  int64_t drift_ppb = 0;
  std::atomic<uint64_t> met{0};  // dispatches that matched so far
};

enum class Timestamps : uint8_t { right, lost, equal, reversed };

// What the faults do to one dispatch.
struct FaultEffects {
  uint64_t longer_by_ns = 0;  // never_ns: it does not end
  uint64_t interrupt_delay_ns = 0;
  uint32_t error_code = 0;
  Timestamps timestamps = Timestamps::right;
  const char* name = "";
};

class FaultTable {
 public:
  // What is wrong with the text, or nothing.
  std::string add(std::string_view specifications);

  // The faults that may hit dispatches of a kernel on a GPU.
  std::vector<Fault*> of_kernel(std::string_view name, uint32_t gpu_index);
  static FaultEffects effects(const std::vector<Fault*>& faults);

  std::vector<ClockJump> clock_jumps(uint32_t gpu_index) const;
  int64_t clock_drift_ppb(uint32_t gpu_index) const;

 private:
  std::string add_one(std::string_view specification);
  std::deque<Fault> faults_;  // stays in place: kernels point to them
};

}  // namespace softgpu

#endif
