// How the GPUs behave: the WAVESCOPE_SOFTGPU_* variables as plain values.
#ifndef WAVESCOPE_SOFTGPU_CONFIGURATION_H
#define WAVESCOPE_SOFTGPU_CONFIGURATION_H

#include <cstdint>
#include <functional>
#include <string>

#include "softgpu/durations.h"
#include "softgpu/faults.h"

namespace softgpu {

// How the engine waits and how it takes packets.
struct Pacing {
  uint64_t spin_ns = 50'000;       // looks without pause for so long after the last work and before the next
  uint64_t longest_sleep_ns = 4'000'000;
  bool needs_doorbell = false;     // take only packets that a doorbell has announced
  uint64_t contention_percent = 0; // longer by so much for each other queue of the GPU that is busy
  uint64_t copy_latency_ns = 1000;
  uint64_t copy_bytes_per_ns = 32;
};

struct Configuration {
  uint32_t gpu_count = 1;  // of the machine, which no variable tells
  DurationTable durations{Duration::constant(2000)};
  uint64_t seed = 1;
  Pacing pacing;
  std::string truth_path;
  FaultTable faults;
  std::string problem;  // what is wrong with a variable, or nothing
};

// `variable` looks up a variable of the environment; nullptr when it is not set.
void read_configuration(const std::function<const char*(const char*)>& variable, Configuration& result);

}  // namespace softgpu

#endif
