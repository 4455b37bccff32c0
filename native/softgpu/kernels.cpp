#include "softgpu/kernels.h"

#include <cstring>

#include "softgpu/code_objects.h"

namespace softgpu {

namespace {

constexpr const char* rocr_shader_name = "rocr_blit_shader";

// ROCr's shaders start with a descriptor of the older kind (amd_kernel_code_t) on a page of their own: its
// code follows after 256 bytes.
bool is_rocr_shader(const Block& block, uint64_t kernel_object) {
  constexpr uint64_t page_mask = 0xfff;
  constexpr uint64_t code_offset_field = 16;
  if ((kernel_object & page_mask) != 0 || !block.is_executable) return false;
  int64_t code_offset = 0;
  std::memcpy(&code_offset, reinterpret_cast<const char*>(kernel_object) + code_offset_field, sizeof code_offset);
  return code_offset == 256;
}

}  // namespace

Kernel& KernelTable::of(uint64_t kernel_object) {
  const uint64_t generation = memory_.code_generation();
  if (generation != code_generation_) {
    by_object_.clear();
    code_generation_ = generation;
  }
  Kernel*& known = by_object_[kernel_object];
  if (known) return *known;
  const auto block = memory_.find(kernel_object);
  const uint64_t on_host = block ? kernel_object - block->gpu_address + block->host_address : 0;
  if (!block) {
    known = &named("", nullptr);
  } else if (const std::string name = kernel_symbol(*block, on_host); !name.empty()) {
    known = &named(name, hip_built_in(name));
  } else if (is_rocr_shader(*block, on_host)) {
    known = &named(rocr_shader_name, run_rocr_shader);
  } else {
    known = &named("", nullptr);
  }
  return *known;
}

Kernel& KernelTable::named(const std::string& name, BuiltIn built_in) {
  std::unique_ptr<Kernel>& known = by_name_[name];
  if (!known) {
    known = std::make_unique<Kernel>();
    known->name = name;
    known->duration = &configuration_.durations.of(name);
    known->random_base = scrambled(configuration_.seed ^ text_hash(name) ^ (uint64_t{gpu_index_} << 32));
    known->built_in = built_in;
    known->faults = configuration_.faults.of_kernel(name, gpu_index_);
  }
  return *known;
}

}  // namespace softgpu
