#include "collector_hsa/stalled_queues.h"

#include "core/not_cancelled.h"

namespace wavescope {
namespace {

constexpr useconds_t kSleepUs = 50;

}  // namespace

StalledQueues stalled_queues;

void StalledQueues::add(const hsa_queue_t* queue) {
  for (Place& place : places_) {
    const hsa_queue_t* free = nullptr;
    if (!place.queue.compare_exchange_strong(free, queue)) continue;
    place.doorbell.store(queue->doorbell_signal.handle);
    count_.fetch_add(1);
    return;
  }
}

void StalledQueues::remove(const hsa_queue_t* queue) {
  for (Place& place : places_) {
    const hsa_queue_t* known = queue;
    if (place.queue.load() != queue) continue;
    place.doorbell.store(0);
    if (place.queue.compare_exchange_strong(known, nullptr)) count_.fetch_sub(1);
  }
}

void StalledQueues::forget_all() {
  for (Place& place : places_) {
    place.doorbell.store(0);
    place.queue.store(nullptr);
  }
  count_.store(0);
}

const StalledQueues::Place* StalledQueues::place_of(hsa_signal_t doorbell) const {
  for (const Place& place : places_) {
    if (place.doorbell.load(std::memory_order_acquire) == doorbell.handle) return &place;
  }
  return nullptr;
}

void StalledQueues::wait_for_room(hsa_signal_t signal, const HsaApi& api) const {
  const Place* place = signal.handle == 0 ? nullptr : place_of(signal);
  if (place == nullptr) return;
  // The runtime rings by itself when there is room, and the queue leaves this list with the first packets that pass.
  while (const hsa_queue_t* queue = place->queue.load(std::memory_order_acquire)) {
    if (place->doorbell.load(std::memory_order_acquire) != signal.handle) return;
    if (api.queue_load_write_index(queue) - api.queue_load_read_index(queue) <= kMostWaiting) return;
    sleep_not_cancelled(kSleepUs);
  }
}

}  // namespace wavescope
