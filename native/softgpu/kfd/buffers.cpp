#include "softgpu/kfd/buffers.h"

#include <sys/mman.h>

#include <utility>

#include "softgpu/kfd/kfd_abi.h"

namespace softgpu::kfd {

namespace {

GpuFile::Kind kind_of(uint32_t flags) { return flags & memory_vram ? GpuFile::Kind::vram : GpuFile::Kind::host; }

}  // namespace

Buffer::Buffer(GpuFile* owner, char* pages, uint32_t gpu_index, uint64_t offset, uint64_t bytes, uint32_t flags)
    : owner_(owner), pages_(pages), gpu_index_(gpu_index), offset_(offset), bytes_(bytes), flags_(flags) {}

Buffer::~Buffer() {
  if (owner_) {
    owner_->release(offset_, bytes_, kind_of(flags_));
  } else {
    munmap(pages_, bytes_);
  }
}

std::shared_ptr<Buffer> Buffer::allocated(GpuFile& file, uint32_t gpu_index, uint64_t bytes, uint32_t flags) {
  const auto offset = file.reserve(bytes, kind_of(flags));
  if (!offset) return nullptr;
  return std::shared_ptr<Buffer>(new Buffer(&file, nullptr, gpu_index, *offset, bytes, flags));
}

std::shared_ptr<Buffer> Buffer::foreign(int descriptor, uint32_t gpu_index, uint64_t offset, uint64_t bytes,
                                        uint32_t flags) {
  void* pages =
      mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, descriptor, static_cast<off_t>(offset));
  if (pages == MAP_FAILED) return nullptr;
  madvise(pages, bytes, MADV_DONTFORK);  // a child of fork has no GPU
  return std::shared_ptr<Buffer>(new Buffer(nullptr, static_cast<char*>(pages), gpu_index, offset, bytes, flags));
}

void* Buffer::map(uint64_t offset, uint64_t bytes) const {
  if (owner_) return owner_->file().map(nullptr, bytes, PROT_READ | PROT_WRITE, offset_ + offset);
  return mremap(pages_ + offset, 0, bytes, MREMAP_MAYMOVE);  // of nothing becomes another mapping of the same shared pages
}

void Buffer::note(const BufferMetadata& metadata) {
  const std::lock_guard<std::mutex> guard(metadata_mutex_);
  metadata_ = metadata;
}

BufferMetadata Buffer::metadata() const {
  const std::lock_guard<std::mutex> guard(metadata_mutex_);
  return metadata_;
}

std::unique_ptr<View> View::of(const Buffer& buffer, uint64_t offset, uint64_t bytes) {
  if (bytes == 0 || offset > buffer.bytes() || bytes > buffer.bytes() - offset) return nullptr;
  void* address = buffer.map(offset, bytes);
  if (address == MAP_FAILED) return nullptr;
  madvise(address, bytes, MADV_DONTFORK);  // a child of fork has no GPU
  return std::unique_ptr<View>(new View(address, bytes));
}

View::~View() { munmap(address_, bytes_); }

uint64_t Allocations::add(Allocation allocation) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const uint64_t handle = next_handle_++;
  by_handle_.emplace(handle, std::move(allocation));
  return handle;
}

std::optional<Allocation> Allocations::take(uint64_t handle) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_handle_.find(handle);
  if (found == by_handle_.end()) return std::nullopt;
  std::optional<Allocation> taken(std::move(found->second));
  by_handle_.erase(found);
  return taken;
}

bool Allocations::has(uint64_t handle) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return by_handle_.count(handle) != 0;
}

std::shared_ptr<Buffer> Allocations::buffer(uint64_t handle) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_handle_.find(handle);
  return found == by_handle_.end() ? nullptr : found->second.buffer;
}

}  // namespace softgpu::kfd
