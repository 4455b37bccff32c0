// Events as ROCr handles them.
#include "softgpu/events.h"

#include <vector>

#include "softgpu/thunk_5x/machine.h"

using namespace softgpu;

SOFTGPU_THUNK hsaKmtCreateEvent(HsaEventDescriptor* descriptor, bool is_manual_reset, bool is_signaled,
                                HsaEvent** event) {
  *event = nullptr;
  Machine* here = machine();
  if (!here) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  const uint32_t id = here->events.create(is_manual_reset, is_signaled);
  if (!id) return HSAKMT_STATUS_ERROR;
  auto* created = new HsaEvent{};
  created->EventId = id;
  created->EventData.EventType = descriptor->EventType;
  created->EventData.EventData.SyncVar = descriptor->SyncVar;
  created->EventData.HWData1 = id;
  created->EventData.HWData2 = here->events.mailbox(id);
  created->EventData.HWData3 = id;
  *event = created;
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtDestroyEvent(HsaEvent* event) {
  if (!event) return HSAKMT_STATUS_INVALID_HANDLE;
  if (Machine* here = machine()) here->events.destroy(event->EventId);
  delete event;
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtSetEvent(HsaEvent* event) {
  Machine* here = machine();
  if (!event) return HSAKMT_STATUS_INVALID_HANDLE;
  if (here) here->events.set(event->EventId);
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtResetEvent(HsaEvent* event) {
  Machine* here = machine();
  if (!event || !here) return HSAKMT_STATUS_INVALID_HANDLE;
  here->events.reset(event->EventId);
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtQueryEventState(HsaEvent* event) {
  return event ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_HANDLE;
}

SOFTGPU_THUNK hsaKmtWaitOnMultipleEvents(HsaEvent* events[], HSAuint32 count, bool waits_for_all,
                                         HSAuint32 milliseconds) {
  Machine* here = machine();
  if (!here) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  std::vector<uint32_t> ids(count);
  for (uint32_t index = 0; index < count; ++index) {
    if (!events[index]) return HSAKMT_STATUS_INVALID_HANDLE;
    ids[index] = events[index]->EventId;
  }
  if (milliseconds) here->engine.host_waits();
  const bool came = here->events.wait(ids, waits_for_all ? WaitFor::all : WaitFor::any, milliseconds);
  return came ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_WAIT_TIMEOUT;
}

SOFTGPU_THUNK hsaKmtWaitOnEvent(HsaEvent* event, HSAuint32 milliseconds) {
  return hsaKmtWaitOnMultipleEvents(&event, 1, true, milliseconds);
}
