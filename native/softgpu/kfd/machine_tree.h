// Reads the machine from the tree of files that programs see as /sys and /dev: the tree is the machine.
#ifndef WAVESCOPE_SOFTGPU_KFD_MACHINE_TREE_H
#define WAVESCOPE_SOFTGPU_KFD_MACHINE_TREE_H

#include <cstdint>
#include <string>
#include <vector>

namespace softgpu::kfd {

constexpr uint32_t maximum_gpu_count = 16;
constexpr uint32_t first_render_minor = 128;

struct GpuFacts {
  uint32_t gpu_id = 0;
  uint32_t render_minor = 0;
  uint32_t device_id = 0;
  uint32_t target_version = 0;  // 90010 for gfx90a
  uint32_t simd_count = 0;
  uint32_t simds_per_unit = 0;
  uint32_t shader_arrays = 0;
  uint32_t arrays_per_engine = 0;
  uint32_t units_per_array = 0;
  uint32_t wavefront_size = 0;
  uint32_t engine_mhz = 0;
  uint32_t memory_mhz = 0;
  uint32_t memory_bits = 0;
  uint64_t memory_bytes = 0;
};

struct MachineTree {
  std::vector<GpuFacts> gpus;
  std::string problem;  // why it cannot be used, or nothing
};

MachineTree read_machine_tree(const std::string& folder);

}  // namespace softgpu::kfd

#endif
