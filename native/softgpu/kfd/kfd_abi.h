// What programs pass to ioctl on /dev/kfd: the arguments of the kernel driver's calls, as far as they are answered.
// Structures may grow at their end from one version to the next; a caller's size is in its request.
#ifndef WAVESCOPE_SOFTGPU_KFD_KFD_ABI_H
#define WAVESCOPE_SOFTGPU_KFD_KFD_ABI_H

#include <cstdint>

namespace softgpu::kfd {

struct VersionArguments {
  uint32_t major, minor;
};
static_assert(sizeof(VersionArguments) == 8);

enum class QueueType : uint32_t { compute = 0, sdma = 1, compute_aql = 2, sdma_xgmi = 3, sdma_by_engine = 4 };

struct CreateQueueArguments {
  uint64_t ring_address, write_index_address, read_index_address, doorbell_offset;
  uint32_t ring_bytes, gpu_id;
  QueueType queue_type;
  uint32_t percentage, priority, queue_id;
  uint64_t end_of_pipe_address, end_of_pipe_bytes, save_area_address;
  uint32_t save_area_bytes, control_stack_bytes;
  uint32_t sdma_engine, reserved;  // not in older versions
};
static_assert(sizeof(CreateQueueArguments) == 96);

// The start of a queue's save area, filled by the runtime before it creates the queue.
struct SaveAreaHeader {
  uint32_t areas[6];
  uint64_t error_reason_address;
  uint32_t error_event_id, reserved;
};
static_assert(sizeof(SaveAreaHeader) == 40);

struct DestroyQueueArguments {
  uint32_t queue_id, reserved;
};
static_assert(sizeof(DestroyQueueArguments) == 8);

struct UpdateQueueArguments {
  uint64_t ring_address;
  uint32_t queue_id, ring_bytes, percentage, priority;
};
static_assert(sizeof(UpdateQueueArguments) == 24);

struct MemoryPolicyArguments {
  uint64_t alternate_aperture, alternate_bytes;
  uint32_t gpu_id, default_policy, alternate_policy, reserved;
};
static_assert(sizeof(MemoryPolicyArguments) == 32);

struct ClockCountersArguments {
  uint64_t gpu_ticks, cpu_ticks, system_ticks, system_hz;
  uint32_t gpu_id, reserved;
};
static_assert(sizeof(ClockCountersArguments) == 40);

struct Apertures {
  uint64_t lds_first, lds_last, scratch_first, scratch_last, gpu_first, gpu_last;
  uint32_t gpu_id, reserved;
};
static_assert(sizeof(Apertures) == 56);

struct AperturesArguments {
  uint64_t apertures_address;
  uint32_t count, reserved;
};
static_assert(sizeof(AperturesArguments) == 16);

struct CreateEventArguments {
  uint64_t page_offset;
  uint32_t trigger_data, event_type, is_auto_reset, node, event_id, slot;
};
static_assert(sizeof(CreateEventArguments) == 32);

struct EventArguments {
  uint32_t event_id, reserved;
};
static_assert(sizeof(EventArguments) == 8);

struct EventData {
  uint64_t last_age;  // of a signal; other types of events have their data here
  uint64_t data[3];
  uint64_t extension;
  uint32_t event_id, reserved;
};
static_assert(sizeof(EventData) == 48);

enum class WaitResult : uint32_t { complete = 0, timeout = 1 };

struct WaitEventsArguments {
  uint64_t events_address;
  uint32_t event_count, waits_for_all, timeout_ms;
  WaitResult result;
};
static_assert(sizeof(WaitEventsArguments) == 24);

struct ScratchArguments {
  uint64_t address;
  uint32_t gpu_id, reserved;
};
static_assert(sizeof(ScratchArguments) == 16);

struct TileConfigArguments {
  uint64_t tile_address, macro_tile_address;
  uint32_t tile_count, macro_tile_count, gpu_id, address_config, bank_count, rank_count;
};
static_assert(sizeof(TileConfigArguments) == 40);

struct TrapHandlerArguments {
  uint64_t code_address, memory_address;
  uint32_t gpu_id, reserved;
};
static_assert(sizeof(TrapHandlerArguments) == 24);

struct AcquireVmArguments {
  uint32_t render_descriptor, gpu_id;
};
static_assert(sizeof(AcquireVmArguments) == 8);

constexpr uint32_t memory_vram = 1U << 0;
constexpr uint32_t memory_gtt = 1U << 1;
constexpr uint32_t memory_user = 1U << 2;
constexpr uint32_t memory_doorbell = 1U << 3;
constexpr uint32_t memory_registers = 1U << 4;
constexpr uint32_t memory_public = 1U << 29;
constexpr uint32_t memory_executable = 1U << 30;

struct AllocateArguments {
  uint64_t address, bytes, handle;
  uint64_t mmap_offset;  // of host memory: its address, given by the caller
  uint32_t gpu_id, flags;
};
static_assert(sizeof(AllocateArguments) == 40);

struct FreeArguments {
  uint64_t handle;
};
static_assert(sizeof(FreeArguments) == 8);

struct MapArguments {
  uint64_t handle, devices_address;
  uint32_t device_count, success_count;
};
static_assert(sizeof(MapArguments) == 24);

struct CuMaskArguments {
  uint32_t queue_id, mask_bits;
  uint64_t mask_address;
};
static_assert(sizeof(CuMaskArguments) == 16);

struct DmaBufferInfoArguments {
  uint64_t bytes, metadata_address;
  uint32_t metadata_bytes, gpu_id, flags, descriptor;
};
static_assert(sizeof(DmaBufferInfoArguments) == 32);

struct ImportDmaBufferArguments {
  uint64_t address, handle;
  uint32_t gpu_id, descriptor;
};
static_assert(sizeof(ImportDmaBufferArguments) == 24);

struct ExportDmaBufferArguments {
  uint64_t handle;
  uint32_t flags, descriptor;
};
static_assert(sizeof(ExportDmaBufferArguments) == 16);

struct QueueGwsArguments {
  uint32_t queue_id, count, first, reserved;
};
static_assert(sizeof(QueueGwsArguments) == 16);

struct SmiEventsArguments {
  uint32_t gpu_id, descriptor;
};
static_assert(sizeof(SmiEventsArguments) == 8);

enum class SvmOperation : uint32_t { set = 0, get = 1 };

enum class SvmAttributeType : uint32_t {
  preferred_location = 0,
  prefetch_location = 1,
  access = 2,
  access_in_place = 3,
  no_access = 4,
  set_flags = 5,
  clear_flags = 6,
  granularity = 7,
};
constexpr uint32_t svm_location_undefined = 0xffffffff;
constexpr uint32_t svm_flag_coherent = 2;

struct SvmAttribute {
  SvmAttributeType type;
  uint32_t value;
};

struct SvmArguments {
  uint64_t address, bytes;
  SvmOperation operation;
  uint32_t attribute_count;
  SvmAttribute attributes[509];  // as many as the caller has; more than any has
};
static_assert(sizeof(SvmArguments) == 4096);

struct XnackModeArguments {
  int32_t is_enabled;  // negative: asks
};
static_assert(sizeof(XnackModeArguments) == 4);

struct AvailableMemoryArguments {
  uint64_t bytes;
  uint32_t gpu_id, reserved;
};
static_assert(sizeof(AvailableMemoryArguments) == 16);

struct RuntimeEnableArguments {
  uint64_t debugger_address;
  uint32_t mode, capabilities;
};
static_assert(sizeof(RuntimeEnableArguments) == 16);

// Of the vendor's own kernels; ROCr 5 enables its runtime by it.
enum class DebugOperation : uint32_t { get_version = 7, runtime_enable = 13 };

struct DebugTrapArguments {
  uint64_t exceptions, address;
  uint32_t process;
  DebugOperation operation;
  uint32_t data[4];
};
static_assert(sizeof(DebugTrapArguments) == 40);

}  // namespace softgpu::kfd

#endif
