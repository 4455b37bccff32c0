// The calls of /dev/kfd by subject. Each returns 0 or an error number; arguments are written back on success only.
#ifndef WAVESCOPE_SOFTGPU_KFD_KFD_HANDLERS_H
#define WAVESCOPE_SOFTGPU_KFD_KFD_HANDLERS_H

#include "softgpu/kfd/kfd_abi.h"
#include "softgpu/kfd/machine.h"

namespace softgpu::kfd {

// kfd_system.cpp
int get_version(Machine&, VersionArguments&);
int get_apertures(Machine&, AperturesArguments&);
int acquire_vm(Machine&, AcquireVmArguments&);
int set_memory_policy(Machine&, MemoryPolicyArguments&);
int get_clock_counters(Machine&, ClockCountersArguments&);
int set_scratch_backing(Machine&, ScratchArguments&);
int set_trap_handler(Machine&, TrapHandlerArguments&);
int get_tile_config(Machine&, TileConfigArguments&);
int set_xnack_mode(Machine&, XnackModeArguments&);
int runtime_enable(Machine&, RuntimeEnableArguments&);
int debug_trap(Machine&, DebugTrapArguments&);
int open_smi_events(Machine&, SmiEventsArguments&);

// kfd_memory.cpp
int allocate_memory(Machine&, AllocateArguments&);
int free_memory(Machine&, FreeArguments&);
int map_memory(Machine&, MapArguments&);
int get_available_memory(Machine&, AvailableMemoryArguments&);
int shared_virtual_memory(Machine&, SvmArguments&);
int export_dma_buffer(Machine&, ExportDmaBufferArguments&);
int get_dma_buffer_info(Machine&, DmaBufferInfoArguments&);
int import_dma_buffer(Machine&, ImportDmaBufferArguments&);

// kfd_queues.cpp
int create_queue(Machine&, CreateQueueArguments&);
int destroy_queue(Machine&, DestroyQueueArguments&);
int update_queue(Machine&, UpdateQueueArguments&);
int set_cu_mask(Machine&, CuMaskArguments&);
int allocate_queue_gws(Machine&, QueueGwsArguments&);

// kfd_events.cpp
int create_event(Machine&, CreateEventArguments&);
int destroy_event(Machine&, EventArguments&);
int set_event(Machine&, EventArguments&);
int reset_event(Machine&, EventArguments&);
int wait_events(Machine&, WaitEventsArguments&);

}  // namespace softgpu::kfd

#endif
