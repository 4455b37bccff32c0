// Numbers of queues and their places in the doorbell pages.
#ifndef WAVESCOPE_SOFTGPU_KFD_QUEUE_SLOTS_H
#define WAVESCOPE_SOFTGPU_KFD_QUEUE_SLOTS_H

#include <array>
#include <bitset>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <vector>

#include "softgpu/kfd/device_file.h"

namespace softgpu::kfd {

constexpr uint64_t doorbell_page_bytes = 8192;

// Offset of a GPU's doorbells in the file of /dev/kfd. Runtimes split a doorbell's offset by masks of up to 32 bits:
// nothing but the slot may be in these.
constexpr uint64_t doorbell_offset(uint32_t gpu_index) { return (uint64_t{gpu_index} + 1) << 41; }

class QueueSlots {
 public:
  struct Slot {
    uint32_t gpu_index;
    uint32_t slot;
  };

  QueueSlots(const DeviceFile& file, uint32_t gpu_count);
  ~QueueSlots();
  QueueSlots(const QueueSlots&) = delete;
  QueueSlots& operator=(const QueueSlots&) = delete;

  bool has_doorbells() const;
  // The number of a new queue, from 1; 0 when the GPU has too many.
  uint32_t add(uint32_t gpu_index);
  std::optional<Slot> find(uint32_t queue_id) const;
  void remove(uint32_t queue_id);
  uint64_t* doorbell(const Slot& slot) const { return doorbells_[slot.gpu_index] + slot.slot; }

 private:
  static constexpr uint32_t slots_per_gpu = doorbell_page_bytes / sizeof(uint64_t);

  mutable std::mutex mutex_;
  std::vector<uint64_t*> doorbells_;
  std::vector<std::bitset<slots_per_gpu>> is_used_;
  std::map<uint32_t, Slot> by_id_;
  uint32_t next_id_ = 1;
};

}  // namespace softgpu::kfd

#endif
