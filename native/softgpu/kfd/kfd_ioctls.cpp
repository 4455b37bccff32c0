#include "softgpu/kfd/ioctl_table.h"
#include "softgpu/kfd/ioctls.h"
#include "softgpu/kfd/kfd_handlers.h"

namespace softgpu::kfd {

namespace {

constexpr Ioctl<Machine> calls[] = {
    Handled<get_version>::as(0x01, "GET_VERSION"),
    Handled<create_queue>::as(0x02, "CREATE_QUEUE"),
    Handled<destroy_queue>::as(0x03, "DESTROY_QUEUE"),
    Handled<set_memory_policy>::as(0x04, "SET_MEMORY_POLICY"),
    Handled<get_clock_counters>::as(0x05, "GET_CLOCK_COUNTERS"),
    Handled<update_queue>::as(0x07, "UPDATE_QUEUE"),
    Handled<create_event>::as(0x08, "CREATE_EVENT"),
    Handled<destroy_event>::as(0x09, "DESTROY_EVENT"),
    Handled<set_event>::as(0x0a, "SET_EVENT"),
    Handled<reset_event>::as(0x0b, "RESET_EVENT"),
    Handled<wait_events>::as(0x0c, "WAIT_EVENTS"),
    Handled<set_scratch_backing>::as(0x11, "SET_SCRATCH_BACKING_VA"),
    Handled<get_tile_config>::as(0x12, "GET_TILE_CONFIG"),
    Handled<set_trap_handler>::as(0x13, "SET_TRAP_HANDLER"),
    Handled<get_apertures>::as(0x14, "GET_PROCESS_APERTURES_NEW"),
    Handled<acquire_vm>::as(0x15, "ACQUIRE_VM"),
    Handled<allocate_memory>::as(0x16, "ALLOC_MEMORY_OF_GPU"),
    Handled<free_memory>::as(0x17, "FREE_MEMORY_OF_GPU"),
    Handled<map_memory>::as(0x18, "MAP_MEMORY_TO_GPU"),
    Handled<map_memory>::as(0x19, "UNMAP_MEMORY_FROM_GPU"),
    Handled<set_cu_mask>::as(0x1a, "SET_CU_MASK"),
    Handled<get_dma_buffer_info>::as(0x1c, "GET_DMABUF_INFO"),
    Handled<import_dma_buffer>::as(0x1d, "IMPORT_DMABUF"),
    Handled<allocate_queue_gws>::as(0x1e, "ALLOC_QUEUE_GWS"),
    Handled<open_smi_events>::as(0x1f, "SMI_EVENTS"),
    Handled<shared_virtual_memory>::as(0x20, "SVM"),
    Handled<set_xnack_mode>::as(0x21, "SET_XNACK_MODE"),
    Handled<get_available_memory>::as(0x23, "AVAILABLE_MEMORY"),
    Handled<export_dma_buffer>::as(0x24, "EXPORT_DMABUF"),
    Handled<runtime_enable>::as(0x25, "RUNTIME_ENABLE"),
    // Of the vendor's own kernels.
    {0x81, "IPC_EXPORT_HANDLE", 0, nullptr},
    Handled<debug_trap>::as(0x82, "DBG_TRAP"),
};

}  // namespace

int kfd_ioctl(Machine& machine, unsigned long request, void* user) {
  const unsigned number = _IOC_NR(request);
  const Ioctl<Machine>* call = find_ioctl(calls, number);
  if (call) return run_ioctl(*call, machine, request, user);
  machine.call_log.unknown(CallLog::Device::kfd, number, _IOC_SIZE(request));
  return ENOTTY;
}

}  // namespace softgpu::kfd
