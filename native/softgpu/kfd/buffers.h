// What the driver's handles stand for: memory that was allocated, registered, imported or mapped.
#ifndef WAVESCOPE_SOFTGPU_KFD_BUFFERS_H
#define WAVESCOPE_SOFTGPU_KFD_BUFFERS_H

#include <cstdint>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "softgpu/kfd/device_file.h"
#include "softgpu/kfd/drm_abi.h"

namespace softgpu::kfd {

// Pages of a GPU's file; they are given back when the last who uses them is gone.
class Buffer {
 public:
  // nullptr when the GPU has no room.
  static std::shared_ptr<Buffer> allocated(GpuFile& file, uint32_t gpu_index, uint64_t bytes, uint32_t flags);
  // Pages of another process's GPU, of whose file this is a descriptor; nullptr when they cannot be mapped.
  static std::shared_ptr<Buffer> foreign(int descriptor, uint32_t gpu_index, uint64_t offset, uint64_t bytes,
                                         uint32_t flags);
  ~Buffer();
  Buffer(const Buffer&) = delete;
  Buffer& operator=(const Buffer&) = delete;

  // Of the GPU's file in this process; -1 when it has none.
  int descriptor() const { return owner_ ? owner_->file().descriptor() : -1; }
  uint32_t gpu_index() const { return gpu_index_; }
  uint64_t offset() const { return offset_; }
  uint64_t bytes() const { return bytes_; }
  uint32_t flags() const { return flags_; }
  // Another mapping of its pages; MAP_FAILED when there is none.
  void* map(uint64_t offset, uint64_t bytes) const;
  bool is_foreign() const { return owner_ == nullptr; }

  void note(const BufferMetadata& metadata);
  BufferMetadata metadata() const;

 private:
  Buffer(GpuFile* owner, char* pages, uint32_t gpu_index, uint64_t offset, uint64_t bytes, uint32_t flags);

  GpuFile* owner_;
  char* pages_;  // of another process
  uint32_t gpu_index_;
  uint64_t offset_;
  uint64_t bytes_;
  uint32_t flags_;
  mutable std::mutex metadata_mutex_;
  BufferMetadata metadata_{};
};

// Where the engine sees pages of which the program's own mapping, if there is any, cannot be read.
class View {
 public:
  // nullptr when it cannot be mapped.
  static std::unique_ptr<View> of(const Buffer& buffer, uint64_t offset, uint64_t bytes);
  ~View();
  View(const View&) = delete;
  View& operator=(const View&) = delete;

  uintptr_t address() const { return reinterpret_cast<uintptr_t>(address_); }

 private:
  View(void* address, uint64_t bytes) : address_(address), bytes_(bytes) {}
  void* address_;
  uint64_t bytes_;
};

struct Allocation {
  uint64_t address = 0;  // 0: at none, only to be mapped
  std::shared_ptr<Buffer> buffer;
  std::unique_ptr<View> view;
};

// The handles of /dev/kfd.
class Allocations {
 public:
  uint64_t add(Allocation allocation);
  std::optional<Allocation> take(uint64_t handle);
  bool has(uint64_t handle) const;
  std::shared_ptr<Buffer> buffer(uint64_t handle) const;

 private:
  mutable std::mutex mutex_;
  std::map<uint64_t, Allocation> by_handle_;
  uint64_t next_handle_ = 1;
};

}  // namespace softgpu::kfd

#endif
