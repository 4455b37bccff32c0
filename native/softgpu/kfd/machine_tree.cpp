#include "softgpu/kfd/machine_tree.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <map>
#include <optional>
#include <string_view>

#include "softgpu/file_text.h"
#include "softgpu/text_pattern.h"

namespace softgpu::kfd {

namespace {

constexpr uint32_t maximum_node_count = 64;
constexpr const char* nodes_folder = "/sys/devices/virtual/kfd/kfd/topology/nodes/";

// The lines `name number` of a file of the topology.
class Properties {
 public:
  static std::optional<Properties> read(const std::string& path) {
    const auto text = file_text(path);
    if (!text) return std::nullopt;
    Properties properties;
    std::string_view rest = *text;
    while (!rest.empty()) {
      const std::string_view line = rest.substr(0, rest.find('\n'));
      rest.remove_prefix(std::min(rest.size(), line.size() + 1));
      const size_t space = line.find(' ');
      if (space == std::string_view::npos) continue;
      if (const auto number = whole_number(line.substr(space + 1))) {
        properties.values_[std::string(line.substr(0, space))] = *number;
      }
    }
    return properties;
  }

  uint64_t wide(const char* name) const {
    const auto found = values_.find(name);
    return found == values_.end() ? 0 : found->second;
  }
  uint32_t number(const char* name) const { return static_cast<uint32_t>(wide(name)); }

 private:
  std::map<std::string, uint64_t> values_;
};

GpuFacts gpu_facts(uint32_t gpu_id, const Properties& node, const Properties& memory) {
  GpuFacts gpu;
  gpu.gpu_id = gpu_id;
  gpu.render_minor = node.number("drm_render_minor");
  gpu.device_id = node.number("device_id");
  gpu.target_version = node.number("gfx_target_version");
  gpu.simd_count = node.number("simd_count");
  gpu.simds_per_unit = node.number("simd_per_cu");
  gpu.shader_arrays = node.number("array_count");
  gpu.arrays_per_engine = node.number("simd_arrays_per_engine");
  gpu.units_per_array = node.number("cu_per_simd_array");
  gpu.wavefront_size = node.number("wave_front_size");
  gpu.engine_mhz = node.number("max_engine_clk_fcompute");
  gpu.memory_mhz = memory.number("mem_clk_max");
  gpu.memory_bits = memory.number("width");
  gpu.memory_bytes = memory.wide("size_in_bytes");
  return gpu;
}

bool is_whole(const GpuFacts& gpu, size_t index) {
  return gpu.gpu_id && gpu.simd_count && gpu.simds_per_unit && gpu.arrays_per_engine && gpu.memory_bytes &&
         gpu.render_minor == first_render_minor + index;
}

// As for a program that has become another user.
std::string why_unreadable(const std::string& folder) {
  if (syscall(SYS_faccessat, AT_FDCWD, (folder + nodes_folder).c_str(), R_OK | X_OK) == 0) return "";
  return std::string(" (") + std::strerror(errno) + ")";
}

}  // namespace

MachineTree read_machine_tree(const std::string& folder) {
  MachineTree tree;
  for (uint32_t node = 0; node < maximum_node_count; ++node) {
    const std::string place = folder + nodes_folder + std::to_string(node);
    const auto properties = Properties::read(place + "/properties");
    if (!properties) break;
    if (properties->number("simd_count") == 0) continue;
    const auto id = file_text(place + "/gpu_id");
    const auto gpu_id = id ? whole_number(std::string_view(*id).substr(0, id->find('\n'))) : std::nullopt;
    const auto memory = Properties::read(place + "/mem_banks/0/properties");
    if (gpu_id && memory) {
      const GpuFacts gpu = gpu_facts(static_cast<uint32_t>(*gpu_id), *properties, *memory);
      if (is_whole(gpu, tree.gpus.size())) {
        tree.gpus.push_back(gpu);
        continue;
      }
    }
    tree.problem = "node " + std::to_string(node) + " of the machine in " + folder + " is not whole";
    return tree;
  }
  if (tree.gpus.empty() || tree.gpus.size() > maximum_gpu_count) {
    tree.problem =
        "there is no machine of 1 to " + std::to_string(maximum_gpu_count) + " GPUs in " + folder + why_unreadable(folder);
  }
  return tree;
}

}  // namespace softgpu::kfd
