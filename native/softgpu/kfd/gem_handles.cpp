#include "softgpu/kfd/gem_handles.h"

#include <utility>

namespace softgpu::kfd {

uint32_t GemHandles::add(std::shared_ptr<Buffer> buffer) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const uint32_t handle = next_++;
  by_handle_[handle] = std::move(buffer);
  return handle;
}

std::shared_ptr<Buffer> GemHandles::find(uint32_t handle) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_handle_.find(handle);
  return found == by_handle_.end() ? nullptr : found->second;
}

bool GemHandles::remove(uint32_t handle) {
  const std::lock_guard<std::mutex> guard(mutex_);
  return by_handle_.erase(handle) != 0;
}

bool GpuMappings::map(uint32_t gpu_index, const std::shared_ptr<Buffer>& buffer, const MappedRange& range) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const uint32_t gpu_bit = 1U << gpu_index;
  const auto known = by_address_.find(range.address);
  if (known != by_address_.end() && known->second.buffer == buffer && known->second.bytes == range.bytes &&
      known->second.buffer_offset == range.buffer_offset) {
    known->second.gpus |= gpu_bit;
    return true;
  }
  auto view = View::of(*buffer, range.buffer_offset, range.bytes);
  if (!view) return false;
  memory_.add({range.address, view->address(), range.bytes, false});
  by_address_[range.address] = {buffer, std::move(view), range.buffer_offset, range.bytes, gpu_bit};
  return true;
}

void GpuMappings::unmap(uint32_t gpu_index, uint64_t address) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto known = by_address_.find(address);
  if (known == by_address_.end()) return;
  known->second.gpus &= ~(1U << gpu_index);
  if (known->second.gpus) return;
  memory_.remove(address);
  by_address_.erase(known);
}

}  // namespace softgpu::kfd
