#include "collector_hsa/shared_queues.h"

#include <algorithm>

namespace wavescope {

SharedQueues::Entry* SharedQueues::entry_of(hsa_agent_t agent) {
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.agent.handle == agent.handle; });
  return found == entries_.end() ? nullptr : &*found;
}

SharedQueues::Release SharedQueues::release(const hsa_queue_t* queue) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found =
      std::find_if(entries_.begin(), entries_.end(), [&](const Entry& entry) { return entry.queue.intercepting == queue; });
  if (found == entries_.end()) return Release{false, nullptr};
  if (--found->users != 0) return Release{true, found->queue.below};
  hsa_queue_t* below = found->queue.below;
  entries_.erase(found);
  return Release{false, below};
}

void SharedQueues::forget_all() {
  const std::lock_guard<std::mutex> lock(mutex_);
  entries_.clear();
}

}  // namespace wavescope
