// Queues of which the runtime has set packets aside, because the ring below is full.
//
// What the program submits meanwhile waits in its own ring, and some runtimes take all of it at once afterwards, though
// they have room for few packets only. So whoever rings the doorbell of such a queue waits before that, as for room in a
// queue that is not intercepted.
#ifndef WAVESCOPE_COLLECTOR_HSA_STALLED_QUEUES_H
#define WAVESCOPE_COLLECTOR_HSA_STALLED_QUEUES_H

#include <atomic>
#include <cstdint>

#include "collector_hsa/hsa_api.h"

namespace wavescope {

class StalledQueues {
 public:
  static constexpr uint64_t kMostWaiting = 128;  // packets: the runtime takes 256, and other threads may submit as well

  bool any() const { return count_.load(std::memory_order_relaxed) != 0; }

  // Of more than can be kept some are not waited for.
  void add(const hsa_queue_t* queue);
  void remove(const hsa_queue_t* queue);
  void forget_all();

  // Before the doorbell of a queue is rung, or any other signal is stored to.
  void wait_for_room(hsa_signal_t signal, const HsaApi& api) const;

 private:
  static constexpr uint32_t kMostQueues = 64;

  // Only who rings the doorbell looks at the queue: any other may be destroyed meanwhile.
  struct Place {
    std::atomic<const hsa_queue_t*> queue{nullptr};
    std::atomic<uint64_t> doorbell{0};
  };

  const Place* place_of(hsa_signal_t doorbell) const;

  std::atomic<uint32_t> count_{0};
  Place places_[kMostQueues] = {};
};

// Of all collectors, as the program may use a queue after the recording has ended.
extern StalledQueues stalled_queues;

}  // namespace wavescope

#endif
