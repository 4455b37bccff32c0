// One machine as a process sees it: the GPUs of a tree, their files, and what was created in them.
#ifndef WAVESCOPE_SOFTGPU_KFD_MACHINE_H
#define WAVESCOPE_SOFTGPU_KFD_MACHINE_H

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "softgpu/engine.h"
#include "softgpu/kfd/call_log.h"
#include "softgpu/kfd/device_file.h"
#include "softgpu/kfd/dma_buffers.h"
#include "softgpu/kfd/gem_handles.h"
#include "softgpu/kfd/machine_tree.h"
#include "softgpu/kfd/queue_slots.h"

namespace softgpu::kfd {

using VariableLookup = std::function<const char*(const char*)>;

// Which device a descriptor is of.
struct DeviceKind {
  enum class Type { none, kfd, render } type = Type::none;
  uint32_t gpu_index = 0;
};

class Machine {
 public:
  // The machine of a tree; nullptr and the reason when there is none.
  static std::unique_ptr<Machine> open(const std::string& tree_folder, const VariableLookup& variable, std::string& problem);

  uint32_t gpu_count() const { return static_cast<uint32_t>(tree.gpus.size()); }
  std::optional<uint32_t> gpu_index(uint32_t gpu_id) const;
  DeviceKind kind_of(const struct stat& status) const;
  DeviceKind kind_of(int descriptor) const;
  const DeviceFile& file_of(const DeviceKind& device) const {
    return device.type == DeviceKind::Type::kfd ? kfd_file : gpu_files[device.gpu_index]->file();
  }

  const MachineTree tree;
  const std::unique_ptr<Configuration> configuration;
  SystemClock clock;
  Memory memory;
  Events events;
  DeviceFile kfd_file{"softgpu-kfd", uint64_t{1} << 20};
  std::vector<std::unique_ptr<GpuFile>> gpu_files;
  QueueSlots queues;
  Allocations allocations;
  DmaBuffers dma_buffers;
  GemHandles gem_handles;
  GpuMappings mappings;
  Engine engine;  // after all that its schedulers use
  CallLog call_log;

 private:
  Machine(MachineTree given_tree, std::unique_ptr<Configuration> given_configuration, const VariableLookup& variable);
  bool has_all_files() const;
};

}  // namespace softgpu::kfd

#endif
