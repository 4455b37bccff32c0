#include "collector_cupti/stream_table.h"

#include <string>

namespace wavescope::cupti {

uint16_t StreamTable::find_or_add(const Key& key) {
  const auto known = queues_.find(key);
  if (known != queues_.end()) return known->second;
  if (queues_.size() < kMostQueues) {
    const auto queue = static_cast<uint16_t>(queues_.size());
    queues_.emplace(key, queue);
    facts_.append(Fact("queue")
                      .add("queue", uint32_t{queue})
                      .add("gpu", key.gpu)
                      .add("stream", key.stream)
                      .add("context", key.context)
                      .add("name", "stream " + std::to_string(key.stream)));
    return queue;
  }
  if (!is_shared_used_) {
    is_shared_used_ = true;
    facts_.append(Fact("queue").add("queue", uint32_t{kMostQueues}).add("gpu", key.gpu).add("name", "other streams"));
    facts_.note("there were more than " + std::to_string(kMostQueues) + " streams: the later ones are shown as one");
  }
  return kMostQueues;
}

}  // namespace wavescope::cupti
