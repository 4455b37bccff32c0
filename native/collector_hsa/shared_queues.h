// Queues for cooperative launches.
//
// A GPU has one of them: the runtime gives the same queue to everybody who asks and counts its users. An intercepting
// queue takes the queue below it for its own, so that destroying it deletes what the GPU's agent deletes once more at the
// end. Therefore one intercepting queue per agent is given to everybody, as the runtime would, and it is never destroyed:
// what lies below is released instead, by the reference that interception took and by a plain one taken before it.
#ifndef WAVESCOPE_COLLECTOR_HSA_SHARED_QUEUES_H
#define WAVESCOPE_COLLECTOR_HSA_SHARED_QUEUES_H

#include <cstdint>
#include <mutex>
#include <vector>

#include "collector_hsa/hsa_abi.h"

namespace wavescope {

// An intercepting queue and the plain reference to what it lies on, which is null where there is no such thing.
struct InterceptedQueue {
  hsa_queue_t* intercepting = nullptr;
  hsa_queue_t* below = nullptr;
};

class SharedQueues {
 public:
  // The agent's queue, with one more user; where there is none yet `make` fills in a new one. One that has nothing below is
  // not shared.
  template <typename Make>
  hsa_status_t create(hsa_agent_t agent, hsa_queue_t** queue, Make make) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (Entry* entry = entry_of(agent)) {
      ++entry->users;
      *queue = entry->queue.intercepting;
      return HSA_STATUS_SUCCESS;
    }
    InterceptedQueue made;
    const hsa_status_t status = make(made);
    if (status != HSA_STATUS_SUCCESS) return status;
    *queue = made.intercepting;
    if (made.below != nullptr) entries_.push_back(Entry{agent, made, 1});
    return status;
  }

  struct Release {
    bool is_in_use;  // by others: it is not to be destroyed
    hsa_queue_t* below;  // to be destroyed twice instead of the queue; null for a queue that is not shared
  };
  // One user less.
  Release release(const hsa_queue_t* queue);

  // The runtime that they belong to is gone.
  void forget_all();

 private:
  struct Entry {
    hsa_agent_t agent;
    InterceptedQueue queue;
    uint32_t users;
  };

  Entry* entry_of(hsa_agent_t agent);

  std::mutex mutex_;
  std::vector<Entry> entries_;
};

}  // namespace wavescope

#endif
