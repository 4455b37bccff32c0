#include "collector_hsa/stalled_queues.h"

#include <unistd.h>

namespace wavescope {
namespace {

constexpr useconds_t kSleepUs = 50;

}  // namespace

StalledQueues stalled_queues;

void StalledQueues::add(const hsa_queue_t* queue) {
  for (auto& place : queues_) {
    const hsa_queue_t* free = nullptr;
    if (!place.compare_exchange_strong(free, queue)) continue;
    count_.fetch_add(1);
    return;
  }
}

void StalledQueues::remove(const hsa_queue_t* queue) {
  for (auto& place : queues_) {
    const hsa_queue_t* known = queue;
    if (place.compare_exchange_strong(known, nullptr)) count_.fetch_sub(1);
  }
}

void StalledQueues::forget_all() {
  for (auto& place : queues_) place.store(nullptr);
  count_.store(0);
}

const std::atomic<const hsa_queue_t*>* StalledQueues::place_of(hsa_signal_t doorbell) const {
  for (const auto& place : queues_) {
    const hsa_queue_t* queue = place.load(std::memory_order_acquire);
    if (queue != nullptr && queue->doorbell_signal.handle == doorbell.handle) return &place;
  }
  return nullptr;
}

void StalledQueues::wait_for_room(hsa_signal_t signal, const HsaApi& api) const {
  const auto* place = place_of(signal);
  if (place == nullptr) return;
  // The runtime rings by itself when there is room, and the queue leaves this list with the first packets that pass.
  while (const hsa_queue_t* queue = place->load(std::memory_order_acquire)) {
    if (queue->doorbell_signal.handle != signal.handle) return;
    if (api.queue_load_write_index(queue) - api.queue_load_read_index(queue) <= kMostWaiting) return;
    usleep(kSleepUs);
  }
}

}  // namespace wavescope
