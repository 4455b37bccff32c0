#include "collector_hsa/signal_probe.h"

#include <cstring>

#include "collector_hsa/slot_block.h"
#include "core/clock.h"
#include "core/not_cancelled.h"

namespace wavescope {
namespace {

constexpr uint32_t kQueueSize = 256;
constexpr uint64_t kPatienceNs = 10000000000;  // once in a process; GPUs that work take microseconds
constexpr useconds_t kPauseUs = 50;
constexpr uint16_t kHeader = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER |
                             HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE;

}  // namespace

bool completes_signal(const HsaApi& api, hsa_agent_t gpu, uint64_t handle, const amd_signal_t* signal) {
  hsa_queue_t* queue = nullptr;
  if (api.queue_create == nullptr || api.queue_store_write_index == nullptr || api.signal_store == nullptr) return false;
  if (api.queue_create(gpu, kQueueSize, HSA_QUEUE_TYPE_SINGLE, nullptr, nullptr, UINT32_MAX, UINT32_MAX, &queue) !=
      HSA_STATUS_SUCCESS) {
    return false;
  }
  auto* packet = static_cast<hsa_barrier_and_packet_t*>(queue->base_address);
  std::memset(reinterpret_cast<char*>(packet) + sizeof packet->header, 0, sizeof *packet - sizeof packet->header);
  packet->completion_signal.handle = handle;
  __atomic_store_n(&packet->header, kHeader, __ATOMIC_RELEASE);
  api.queue_store_write_index(queue, 1);
  api.signal_store(queue->doorbell_signal, 0);
  const uint64_t deadline_ns = boottime_ns() + kPatienceNs;
  while (value_of(signal) > 0 && boottime_ns() < deadline_ns) sleep_not_cancelled(kPauseUs);
  const bool completed = value_of(signal) == 0;
  api.queue_destroy(queue);
  return completed;
}

}  // namespace wavescope
