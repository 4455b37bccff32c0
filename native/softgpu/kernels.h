// What a GPU knows of the kernels that are dispatched to it: name, duration, built-in work, faults.
#ifndef WAVESCOPE_SOFTGPU_KERNELS_H
#define WAVESCOPE_SOFTGPU_KERNELS_H

#include <cstdint>
#include <memory>
#include <string>
#include <unordered_map>
#include <vector>

#include "softgpu/built_in_kernels.h"
#include "softgpu/configuration.h"

namespace softgpu {

struct Kernel {
  std::string name;  // mangled, as in the code object; empty when it is in none
  const Duration* duration = nullptr;
  uint64_t random_base = 0;
  uint64_t run_count = 0;
  BuiltIn built_in = nullptr;
  std::vector<Fault*> faults;

  uint64_t next_duration_ns() { return duration->draw(random_base + 2 * run_count++); }
};

// The kernels of one GPU; used only by that GPU's scheduler.
class KernelTable {
 public:
  KernelTable(uint32_t gpu_index, Configuration& configuration, const Memory& memory)
      : gpu_index_(gpu_index), configuration_(configuration), memory_(memory) {}

  // Stays valid for good: ops in flight and later code at the same address do not disturb each other.
  Kernel& of(uint64_t kernel_object);

 private:
  Kernel& named(const std::string& name, BuiltIn built_in);

  uint32_t gpu_index_;
  Configuration& configuration_;
  const Memory& memory_;
  uint64_t code_generation_ = 0;
  std::unordered_map<uint64_t, Kernel*> by_object_;
  std::unordered_map<std::string, std::unique_ptr<Kernel>> by_name_;
};

}  // namespace softgpu

#endif
