// Allocating, registering and mapping memory.
#include "softgpu/memory.h"

#include <limits>
#include <numeric>
#include <vector>

#include "softgpu/thunk_5x/machine.h"

using namespace softgpu;

SOFTGPU_THUNK hsaKmtAllocMemory(HSAuint32 node, HSAuint64 bytes, HsaMemFlags flags, void** address) {
  Machine* here = machine();
  if (!here || !here->has_node(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  const uint64_t limit =
      node == cpu_node ? std::numeric_limits<uint64_t>::max() : here->configuration->memory_bytes;
  *address = here->memory.allocate(node, bytes, flags.Value, flags.ui32.ExecuteAccess, flags.ui32.Scratch, limit);
  return *address ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_NO_MEMORY;
}

// Giving something back succeeds in a child of fork, which has nothing: the runtime's exit handlers insist on it.
SOFTGPU_THUNK hsaKmtFreeMemory(void* address, HSAuint64) {
  Machine* here = machine();
  const bool is_released = !here || here->memory.release(address);
  return is_released ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

SOFTGPU_THUNK hsaKmtRegisterMemoryWithFlags(void* address, HSAuint64 bytes, HsaMemFlags flags) {
  Machine* here = machine();
  const bool is_registered = here && here->memory.register_host(address, bytes, flags.Value);
  return is_registered ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_INVALID_PARAMETER;
}

SOFTGPU_THUNK hsaKmtRegisterMemory(void* address, HSAuint64 bytes) {
  return hsaKmtRegisterMemoryWithFlags(address, bytes, {});
}

SOFTGPU_THUNK hsaKmtRegisterMemoryToNodes(void* address, HSAuint64 bytes, HSAuint64, HSAuint32*) {
  return hsaKmtRegisterMemoryWithFlags(address, bytes, {});
}

SOFTGPU_THUNK hsaKmtDeregisterMemory(void* address) {
  Machine* here = machine();
  const bool was_known = !here || here->memory.deregister_host(address);
  return was_known ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_MEMORY_NOT_REGISTERED;
}

SOFTGPU_THUNK hsaKmtMapMemoryToGPUNodes(void* address, HSAuint64, HSAuint64* gpu_address, HsaMemMapFlags,
                                        HSAuint64 count, HSAuint32* nodes) {
  Machine* here = machine();
  if (!here) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  const auto mapped = here->memory.map(address, std::vector<uint32_t>(nodes, nodes + count));
  if (!mapped) return HSAKMT_STATUS_INVALID_PARAMETER;
  if (gpu_address) *gpu_address = *mapped;
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtMapMemoryToGPU(void* address, HSAuint64 bytes, HSAuint64* gpu_address) {
  Machine* here = machine();
  if (!here) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  std::vector<uint32_t> nodes(here->configuration->gpu_count);
  std::iota(nodes.begin(), nodes.end(), 1U);
  return hsaKmtMapMemoryToGPUNodes(address, bytes, gpu_address, {}, nodes.size(), nodes.data());
}

SOFTGPU_THUNK hsaKmtUnmapMemoryToGPU(void* address) {
  if (Machine* here = machine()) here->memory.unmap(address);
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtQueryPointerInfo(const void* address, HsaPointerInfo* info) {
  *info = {};
  Machine* here = machine();
  const auto block = here ? here->memory.find(address) : std::nullopt;
  // Scratch and unknown pointers: ROCr expects the type "unknown" together with an error.
  if (!block || block->is_reservation) return HSAKMT_STATUS_ERROR;
  const bool is_visible = block->is_registered || block->node == cpu_node || here->configuration->has_large_bar;
  const std::vector<uint32_t>* nodes = here->memory.mapped_nodes(address);
  info->Type = block->is_registered ? HSA_POINTER_REGISTERED_USER : HSA_POINTER_ALLOCATED;
  info->Node = block->node;
  info->MemFlags.Value = block->flags;
  info->CPUAddress = is_visible ? reinterpret_cast<void*>(block->host_address) : nullptr;
  info->GPUAddress = block->gpu_address;
  info->SizeInBytes = block->bytes;
  info->NMappedNodes = nodes ? static_cast<HSAuint32>(nodes->size()) : 0;
  info->MappedNodes = nodes ? nodes->data() : nullptr;
  info->UserData = block->user_data;
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtSetMemoryUserData(const void* address, void* data) {
  Machine* here = machine();
  return here && here->memory.set_user_data(address, data) ? HSAKMT_STATUS_SUCCESS : HSAKMT_STATUS_ERROR;
}

SOFTGPU_THUNK hsaKmtSetMemoryPolicy(HSAuint32, HSAuint32, HSAuint32, void*, HSAuint64) {
  return HSAKMT_STATUS_SUCCESS;
}
