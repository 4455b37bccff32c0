#include "softgpu/kfd/queue_slots.h"

#include <sys/mman.h>

#include <algorithm>

namespace softgpu::kfd {

QueueSlots::QueueSlots(const DeviceFile& file, uint32_t gpu_count) : is_used_(gpu_count) {
  for (uint32_t gpu_index = 0; gpu_index < gpu_count; ++gpu_index) {
    void* page = file.map(nullptr, doorbell_page_bytes, PROT_READ | PROT_WRITE, doorbell_offset(gpu_index));
    doorbells_.push_back(page == MAP_FAILED ? nullptr : static_cast<uint64_t*>(page));
  }
}

QueueSlots::~QueueSlots() {
  for (uint64_t* page : doorbells_) {
    if (page) munmap(page, doorbell_page_bytes);
  }
}

bool QueueSlots::has_doorbells() const {
  return std::all_of(doorbells_.begin(), doorbells_.end(), [](const uint64_t* page) { return page != nullptr; });
}

uint32_t QueueSlots::add(uint32_t gpu_index) {
  const std::lock_guard<std::mutex> guard(mutex_);
  auto& used = is_used_[gpu_index];
  uint32_t slot = 0;
  while (slot < slots_per_gpu && used[slot]) ++slot;
  if (slot == slots_per_gpu) return 0;
  used[slot] = true;
  const uint32_t queue_id = next_id_++;
  by_id_[queue_id] = {gpu_index, slot};
  return queue_id;
}

std::optional<QueueSlots::Slot> QueueSlots::find(uint32_t queue_id) const {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_id_.find(queue_id);
  return found == by_id_.end() ? std::nullopt : std::optional<Slot>(found->second);
}

void QueueSlots::remove(uint32_t queue_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  const auto found = by_id_.find(queue_id);
  if (found == by_id_.end()) return;
  is_used_[found->second.gpu_index][found->second.slot] = false;
  by_id_.erase(found);
}

}  // namespace softgpu::kfd
