// Creating and destroying queues.
#include <hsa/amd_hsa_queue.h>

#include <cstddef>

#include "softgpu/thunk_5x/machine.h"

namespace {

using namespace softgpu;

bool is_power_of_two(uint64_t number) { return number && (number & (number - 1)) == 0; }

void add_aql_queue(Machine& here, QueueRecords::Record& record, QueueMemory memory, HsaEvent* event,
                   const HsaQueueResource& resource) {
  memory.read_index = resource.Queue_read_ptr_aql;
  memory.write_index = resource.Queue_write_ptr_aql;
  // ROCr passes the address of an index inside its queue, which also holds the profiling bit.
  const char* queue = reinterpret_cast<const char*>(memory.read_index) - offsetof(amd_queue_t, read_dispatch_id);
  const auto* properties = reinterpret_cast<const uint32_t*>(queue + offsetof(amd_queue_t, queue_properties));
  ErrorReport error;
  if (event) error = {const_cast<int64_t*>(reinterpret_cast<volatile int64_t*>(resource.ErrorReason)), event->EventId};
  *here.queues.doorbell(record) = ~uint64_t{0};  // so that packet 0 is an announcement
  here.engine.device(record.gpu_index).add_aql_queue(record.id, memory, properties, error);
}

void add_sdma_queue(Machine& here, QueueRecords::Record& record, QueueMemory memory, HsaQueueResource& resource) {
  memory.read_index = &record.indices[0];
  memory.write_index = &record.indices[1];
  resource.QueueRptrValue = reinterpret_cast<uint64_t>(&record.indices[0]);
  resource.QueueWptrValue = reinterpret_cast<uint64_t>(&record.indices[1]);
  *here.queues.doorbell(record) = 0;
  here.engine.device(record.gpu_index).add_sdma_queue(record.id, memory);
}

}  // namespace

SOFTGPU_THUNK hsaKmtCreateQueue(HSAuint32 node, HSA_QUEUE_TYPE type, HSAuint32, HSA_QUEUE_PRIORITY, void* ring,
                                HSAuint64 ring_bytes, HsaEvent* event, HsaQueueResource* resource) {
  Machine* here = machine();
  if (!here) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  if (!here->is_gpu(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  if (!ring || !is_power_of_two(ring_bytes)) return HSAKMT_STATUS_INVALID_PARAMETER;
  const bool is_aql = type == HSA_QUEUE_COMPUTE_AQL;
  if (!is_aql && type != HSA_QUEUE_SDMA && type != HSA_QUEUE_SDMA_XGMI) return HSAKMT_STATUS_NOT_SUPPORTED;
  QueueRecords::Record* record = here->queues.create(Machine::gpu_index(node));
  if (!record) return HSAKMT_STATUS_OUT_OF_RESOURCES;
  uint64_t* doorbell = here->queues.doorbell(*record);
  const QueueMemory memory{static_cast<char*>(ring), ring_bytes, nullptr, nullptr, doorbell};
  resource->QueueId = record->id;
  resource->QueueDoorBell = reinterpret_cast<uint64_t>(doorbell);
  if (is_aql) {
    add_aql_queue(*here, *record, memory, event, *resource);
  } else {
    add_sdma_queue(*here, *record, memory, *resource);
  }
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtUpdateQueue(HSA_QUEUEID id, HSAuint32 percent, HSA_QUEUE_PRIORITY, void*, HSAuint64, HsaEvent*) {
  Machine* here = machine();
  const auto gpu_index = here ? here->queues.gpu_of(id) : std::nullopt;
  if (!gpu_index) return HSAKMT_STATUS_INVALID_HANDLE;
  here->engine.device(*gpu_index).suspend_queue(id, percent == 0);
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtDestroyQueue(HSA_QUEUEID id) {
  Machine* here = machine();
  if (!here) return HSAKMT_STATUS_SUCCESS;  // a child of fork has no queues
  const auto gpu_index = here->queues.gpu_of(id);
  if (!gpu_index) return HSAKMT_STATUS_INVALID_HANDLE;
  here->engine.device(*gpu_index).remove_queue(id);
  here->queues.remove(id);
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtSetQueueCUMask(HSA_QUEUEID, HSAuint32, HSAuint32*) { return HSAKMT_STATUS_SUCCESS; }

SOFTGPU_THUNK hsaKmtGetQueueInfo(HSA_QUEUEID, HsaQueueInfo*) { return HSAKMT_STATUS_NOT_SUPPORTED; }

SOFTGPU_THUNK hsaKmtAllocQueueGWS(HSA_QUEUEID, HSAuint32, HSAuint32* first) {
  if (first) *first = 0;
  return HSAKMT_STATUS_SUCCESS;
}
