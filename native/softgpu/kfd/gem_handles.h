// What the render nodes know of buffers: their numbers, and where they are mapped into the GPUs' address space.
#ifndef WAVESCOPE_SOFTGPU_KFD_GEM_HANDLES_H
#define WAVESCOPE_SOFTGPU_KFD_GEM_HANDLES_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>

#include "softgpu/kfd/buffers.h"
#include "softgpu/memory.h"

namespace softgpu::kfd {

class GemHandles {
 public:
  uint32_t add(std::shared_ptr<Buffer> buffer);
  std::shared_ptr<Buffer> find(uint32_t handle) const;
  bool remove(uint32_t handle);

 private:
  mutable std::mutex mutex_;
  std::map<uint32_t, std::shared_ptr<Buffer>> by_handle_;
  uint32_t next_ = 1;
};

// Part of a buffer that GPUs see at an address.
struct MappedRange {
  uint64_t address;
  uint64_t buffer_offset;
  uint64_t bytes;
};

class GpuMappings {
 public:
  explicit GpuMappings(Memory& memory) : memory_(memory) {}

  // Whether it could be mapped. All GPUs that map an address see the same there.
  bool map(uint32_t gpu_index, const std::shared_ptr<Buffer>& buffer, const MappedRange& range);
  void unmap(uint32_t gpu_index, uint64_t address);

 private:
  struct Mapping {
    std::shared_ptr<Buffer> buffer;
    std::unique_ptr<View> view;
    uint64_t buffer_offset;
    uint64_t bytes;
    uint32_t gpus;  // a bit for each that has it
  };

  Memory& memory_;
  std::mutex mutex_;
  std::map<uint64_t, Mapping> by_address_;
};

}  // namespace softgpu::kfd

#endif
