// What the application asks of hsa_queue_create.
#ifndef WAVESCOPE_COLLECTOR_HSA_QUEUE_REQUEST_H
#define WAVESCOPE_COLLECTOR_HSA_QUEUE_REQUEST_H

#include <cstdint>

#include "collector_hsa/hsa_tables.h"

namespace wavescope {

struct QueueRequest {
  hsa_agent_t agent;
  uint32_t size;
  hsa_queue_type32_t type;
  void (*callback)(hsa_status_t, hsa_queue_t*, void*);
  void* data;
  uint32_t private_bytes;
  uint32_t group_bytes;

  bool is_for_shared_queue() const { return type == HSA_QUEUE_TYPE_COOPERATIVE; }

  // hsa_queue_create, or hsa_amd_queue_intercept_create, which takes the same.
  hsa_status_t make(QueueCreate* create, hsa_queue_t** queue) const {
    return create(agent, size, type, callback, data, private_bytes, group_bytes, queue);
  }
};

}  // namespace wavescope

#endif
