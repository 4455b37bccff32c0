// The software GPU's own declarations against the vendor's and the kernel's, as far as these are old enough to be there.
#include <cstdio>

#if __has_include(<hsa/hsa.h>)
#include <hsa/amd_hsa_queue.h>
#include <hsa/amd_hsa_signal.h>
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>

#include <cstddef>

#if __has_include(<linux/kfd_ioctl.h>) && __has_include(<drm/drm.h>)
#include <linux/kfd_ioctl.h>
#define HAS_KERNEL_HEADERS
#endif

#include "softgpu/kfd/kfd_abi.h"
#include "softgpu/packets.h"

using namespace softgpu;
using namespace softgpu::kfd;

static_assert(offsetof(amd_signal_t, value) == offsetof(Signal, value));
static_assert(offsetof(amd_signal_t, event_mailbox_ptr) == offsetof(Signal, event_mailbox));
static_assert(offsetof(amd_signal_t, event_id) == offsetof(Signal, event_id));
static_assert(offsetof(amd_signal_t, start_ts) == offsetof(Signal, start_ticks));
static_assert(offsetof(amd_signal_t, end_ts) == offsetof(Signal, end_ticks));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, grid_size_x) == offsetof(DispatchPacket, grid_size));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, kernel_object) == offsetof(DispatchPacket, kernel_object));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, kernarg_address) == offsetof(DispatchPacket, kernel_arguments));
static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == offsetof(DispatchPacket, completion_signal));
static_assert(offsetof(hsa_barrier_and_packet_t, dep_signal) == offsetof(BarrierPacket, awaited_signal));
static_assert(offsetof(hsa_amd_barrier_value_packet_t, signal) == offsetof(BarrierValuePacket, signal));
static_assert(offsetof(hsa_amd_barrier_value_packet_t, cond) == offsetof(BarrierValuePacket, comparison));
static_assert(HSA_AMD_PACKET_TYPE_BARRIER_VALUE == vendor_barrier_value);
static_assert(HSA_PACKET_TYPE_BARRIER_OR == static_cast<int>(PacketType::barrier_or));
static_assert(AMD_QUEUE_PROPERTIES_ENABLE_PROFILING == queue_profiling_bit);
// What the front end takes to be around the read index that it is given.
static_assert(offsetof(amd_queue_t, read_dispatch_id) == 128);
static_assert(offsetof(amd_queue_t, queue_properties) == 180);

#ifdef HAS_KERNEL_HEADERS
static_assert(sizeof(kfd_ioctl_get_process_apertures_new_args) == sizeof(AperturesArguments));
static_assert(sizeof(kfd_process_device_apertures) == sizeof(Apertures));
static_assert(offsetof(kfd_process_device_apertures, gpu_id) == offsetof(Apertures, gpu_id));
static_assert(offsetof(kfd_ioctl_create_queue_args, ctx_save_restore_address) ==
              offsetof(CreateQueueArguments, save_area_address));
static_assert(offsetof(kfd_ioctl_create_queue_args, queue_type) == offsetof(CreateQueueArguments, queue_type));
static_assert(offsetof(kfd_ioctl_create_queue_args, read_pointer_address) ==
              offsetof(CreateQueueArguments, read_index_address));
static_assert(sizeof(kfd_ioctl_update_queue_args) == sizeof(UpdateQueueArguments));
static_assert(sizeof(kfd_ioctl_get_clock_counters_args) == sizeof(ClockCountersArguments));
static_assert(sizeof(kfd_ioctl_create_event_args) == sizeof(CreateEventArguments));
static_assert(offsetof(kfd_ioctl_create_event_args, event_slot_index) == offsetof(CreateEventArguments, slot));
static_assert(sizeof(kfd_event_data) == sizeof(EventData));
static_assert(offsetof(kfd_event_data, event_id) == offsetof(EventData, event_id));
static_assert(sizeof(kfd_ioctl_wait_events_args) == sizeof(WaitEventsArguments));
static_assert(sizeof(kfd_ioctl_alloc_memory_of_gpu_args) == sizeof(AllocateArguments));
static_assert(offsetof(kfd_ioctl_alloc_memory_of_gpu_args, mmap_offset) == offsetof(AllocateArguments, mmap_offset));
static_assert(sizeof(kfd_ioctl_map_memory_to_gpu_args) == sizeof(MapArguments));
static_assert(sizeof(kfd_ioctl_get_dmabuf_info_args) == sizeof(DmaBufferInfoArguments));
static_assert(sizeof(kfd_ioctl_import_dmabuf_args) == sizeof(ImportDmaBufferArguments));
static_assert(offsetof(kfd_ioctl_svm_args, attrs) == offsetof(SvmArguments, attributes));
static_assert(KFD_IOC_ALLOC_MEM_FLAGS_PUBLIC == memory_public);
static_assert(KFD_IOC_ALLOC_MEM_FLAGS_EXECUTABLE == memory_executable);
static_assert(KFD_IOC_ALLOC_MEM_FLAGS_MMIO_REMAP == memory_registers);
static_assert(KFD_IOCTL_SVM_FLAG_COHERENT == svm_flag_coherent);
#endif

int main() { return 0; }

#else

int main() {
  std::puts("no header of HSA here: nothing to compare with");
  return 77;
}

#endif
