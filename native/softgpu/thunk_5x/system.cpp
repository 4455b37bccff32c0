// Opening, versions, clocks, debugging, and what is not offered.
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>

#include "softgpu/packets.h"
#include "softgpu/thunk_5x/machine.h"

namespace {

using namespace softgpu;

// The engine's own declarations against the vendor's.
static_assert(offsetof(amd_signal_t, value) == offsetof(Signal, value));
static_assert(offsetof(amd_signal_t, event_mailbox_ptr) == offsetof(Signal, event_mailbox));
static_assert(offsetof(amd_signal_t, event_id) == offsetof(Signal, event_id));
static_assert(offsetof(amd_signal_t, start_ts) == offsetof(Signal, start_ticks));
static_assert(offsetof(amd_signal_t, end_ts) == offsetof(Signal, end_ticks));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, grid_size_x) == offsetof(DispatchPacket, grid_size));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, kernel_object) == offsetof(DispatchPacket, kernel_object));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, kernarg_address) == offsetof(DispatchPacket, kernel_arguments));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) ==
              offsetof(DispatchPacket, completion_signal));
static_assert(offsetof(hsa_barrier_and_packet_t, dep_signal) == offsetof(BarrierPacket, awaited_signal));
static_assert(offsetof(hsa_amd_barrier_value_packet_t, signal) == offsetof(BarrierValuePacket, signal));
static_assert(offsetof(hsa_amd_barrier_value_packet_t, cond) == offsetof(BarrierValuePacket, comparison));
static_assert(HSA_AMD_PACKET_TYPE_BARRIER_VALUE == vendor_barrier_value);
static_assert(HSA_PACKET_TYPE_BARRIER_OR == static_cast<int>(PacketType::barrier_or));
static_assert(AMD_QUEUE_PROPERTIES_ENABLE_PROFILING == queue_profiling_bit);

}  // namespace

SOFTGPU_THUNK hsaKmtOpenKFD() { return open_machine(); }

SOFTGPU_THUNK hsaKmtCloseKFD() { return HSAKMT_STATUS_SUCCESS; }

SOFTGPU_THUNK hsaKmtGetVersion(HsaVersionInfo* version) {
  // Below 1.4 ROCr refuses gfx906, and at 1.0 it polls instead of using interrupts.
  version->KernelInterfaceMajorVersion = 1;
  version->KernelInterfaceMinorVersion = 11;
  return HSAKMT_STATUS_SUCCESS;
}

// Success makes ROCr give each queue an error reason and event.
SOFTGPU_THUNK hsaKmtRuntimeEnable(void*, bool) { return HSAKMT_STATUS_SUCCESS; }
SOFTGPU_THUNK hsaKmtRuntimeDisable() { return HSAKMT_STATUS_SUCCESS; }

SOFTGPU_THUNK hsaKmtGetClockCounters(HSAuint32 node, HsaClockCounters* counters) {
  Machine* here = machine();
  if (!here) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  if (!here->has_node(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  const uint64_t now = here->clock.now_ns();
  counters->SystemClockCounter = now;
  counters->CPUClockCounter = now;
  counters->SystemClockFrequencyHz = 1'000'000'000;
  // Of the same moment: ROCr converts timestamps by such pairs.
  counters->GPUClockCounter =
      here->is_gpu(node) ? here->engine.device(Machine::gpu_index(node)).gpu_clock().ticks(now) : 0;
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtSetTrapHandler(HSAuint32, void*, HSAuint64, void*, HSAuint64) {
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtGetXNACKMode(HSAint32* mode) {
  *mode = 0;
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtSetXNACKMode(HSAint32) { return HSAKMT_STATUS_NOT_SUPPORTED; }

SOFTGPU_THUNK hsaKmtRegisterGraphicsHandleToNodes(HSAuint64, HsaGraphicsResourceInfo*, HSAuint64, HSAuint32*) {
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

SOFTGPU_THUNK hsaKmtShareMemory(void*, HSAuint64, HsaSharedMemoryHandle*) { return HSAKMT_STATUS_NOT_SUPPORTED; }

SOFTGPU_THUNK hsaKmtRegisterSharedHandle(const HsaSharedMemoryHandle*, void**, HSAuint64*) {
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

SOFTGPU_THUNK hsaKmtRegisterSharedHandleToNodes(const HsaSharedMemoryHandle*, void**, HSAuint64*, HSAuint64,
                                                HSAuint32*) {
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

SOFTGPU_THUNK hsaKmtSVMSetAttr(void*, HSAuint64, unsigned int, HSA_SVM_ATTRIBUTE*) {
  return HSAKMT_STATUS_NOT_SUPPORTED;
}

SOFTGPU_THUNK hsaKmtSVMGetAttr(void*, HSAuint64, unsigned int, HSA_SVM_ATTRIBUTE*) {
  return HSAKMT_STATUS_NOT_SUPPORTED;
}
