// Allocating, mapping and sharing memory.
#include <fcntl.h>

#include <algorithm>
#include <cerrno>
#include <utility>

#include "softgpu/kfd/kfd_handlers.h"

namespace softgpu::kfd {

namespace {

constexpr uint64_t page_bytes = 4096;
// Of the registers that hosts write to flush caches: a page of the file of /dev/kfd for each GPU.
constexpr uint64_t registers_offset = uint64_t{1} << 40;

// The program's own mapping cannot be read: the engine needs one of its own.
bool is_hidden(uint32_t flags) { return (flags & memory_vram) && !(flags & memory_public); }

int allocate_pages(Machine& machine, uint32_t gpu_index, AllocateArguments& arguments, Allocation& allocation) {
  allocation.buffer = Buffer::allocated(*machine.gpu_files[gpu_index], gpu_index, arguments.bytes, arguments.flags);
  if (!allocation.buffer) return ENOMEM;
  arguments.mmap_offset = allocation.buffer->offset();
  if (!arguments.address || !is_hidden(arguments.flags)) return 0;
  allocation.view = View::of(*allocation.buffer, 0, arguments.bytes);
  return allocation.view ? 0 : ENOMEM;
}

uint32_t granted_attribute(SvmAttribute& attribute) {
  switch (attribute.type) {
    case SvmAttributeType::preferred_location:
    case SvmAttributeType::prefetch_location: return svm_location_undefined;
    case SvmAttributeType::set_flags: return svm_flag_coherent;
    case SvmAttributeType::clear_flags: return 0;
    case SvmAttributeType::granularity: return 9;  // 2 MiB: 2 to the power of so many pages
    case SvmAttributeType::access: attribute.type = SvmAttributeType::access_in_place; break;
    case SvmAttributeType::access_in_place:
    case SvmAttributeType::no_access: break;
  }
  return attribute.value;
}

}  // namespace

int allocate_memory(Machine& machine, AllocateArguments& arguments) {
  const auto gpu_index = machine.gpu_index(arguments.gpu_id);
  if (!gpu_index || arguments.bytes == 0 || arguments.bytes > device_file_bytes) return EINVAL;
  Allocation allocation;
  allocation.address = arguments.address;
  Block block{arguments.address, arguments.address, arguments.bytes, (arguments.flags & memory_executable) != 0};
  if (arguments.flags & memory_user) {
    block.host_address = arguments.mmap_offset;
  } else if (arguments.flags & memory_doorbell) {
    arguments.mmap_offset = doorbell_offset(*gpu_index);
  } else if (arguments.flags & memory_registers) {
    arguments.mmap_offset = registers_offset + *gpu_index * page_bytes;
  } else if (const int error = allocate_pages(machine, *gpu_index, arguments, allocation)) {
    return error;
  }
  if (allocation.view) block.host_address = allocation.view->address();
  if (arguments.address) machine.memory.add(block);
  arguments.handle = machine.allocations.add(std::move(allocation));
  return 0;
}

int free_memory(Machine& machine, FreeArguments& arguments) {
  const auto allocation = machine.allocations.take(arguments.handle);
  if (!allocation) return EINVAL;
  if (allocation->address) machine.memory.remove(allocation->address);
  return 0;
}

// All GPUs see all memory anyway.
int map_memory(Machine& machine, MapArguments& arguments) {
  if (!machine.allocations.has(arguments.handle)) return EINVAL;
  arguments.success_count = arguments.device_count;
  return 0;
}

int get_available_memory(Machine& machine, AvailableMemoryArguments& arguments) {
  const auto gpu_index = machine.gpu_index(arguments.gpu_id);
  if (!gpu_index) return EINVAL;
  const GpuFile& file = *machine.gpu_files[*gpu_index];
  arguments.bytes = file.vram_bytes() - file.used_vram_bytes();
  return 0;
}

// Managed memory is plain host memory, which GPUs see as it is: there is nothing to keep.
int shared_virtual_memory(Machine&, SvmArguments& arguments) {
  if (arguments.attribute_count > std::size(arguments.attributes)) return EINVAL;
  if (arguments.operation == SvmOperation::set) return 0;
  if (arguments.operation != SvmOperation::get) return EINVAL;
  for (uint32_t index = 0; index < arguments.attribute_count; ++index) {
    SvmAttribute& attribute = arguments.attributes[index];
    attribute.value = granted_attribute(attribute);
  }
  return 0;
}

int export_dma_buffer(Machine& machine, ExportDmaBufferArguments& arguments) {
  const auto buffer = machine.allocations.buffer(arguments.handle);
  if (!buffer) return EINVAL;
  const int descriptor = machine.dma_buffers.exported(buffer, (arguments.flags & O_CLOEXEC) != 0);
  if (descriptor < 0) return errno;
  arguments.descriptor = static_cast<uint32_t>(descriptor);
  return 0;
}

int get_dma_buffer_info(Machine& machine, DmaBufferInfoArguments& arguments) {
  const auto buffer = machine.dma_buffers.imported(static_cast<int>(arguments.descriptor));
  if (!buffer) return EINVAL;
  arguments.bytes = buffer->bytes();
  arguments.gpu_id = machine.tree.gpus[buffer->gpu_index()].gpu_id;
  arguments.flags = buffer->flags() & (memory_vram | memory_gtt);
  arguments.metadata_bytes = 0;
  return 0;
}

int import_dma_buffer(Machine& machine, ImportDmaBufferArguments& arguments) {
  auto buffer = machine.dma_buffers.imported(static_cast<int>(arguments.descriptor));
  if (!buffer || !machine.gpu_index(arguments.gpu_id)) return EINVAL;
  Allocation allocation;
  allocation.address = arguments.address;
  allocation.view = View::of(*buffer, 0, buffer->bytes());
  if (!allocation.view) return ENOMEM;
  if (arguments.address) {
    machine.memory.add({arguments.address, allocation.view->address(), buffer->bytes(), false});
  }
  allocation.buffer = std::move(buffer);
  arguments.handle = machine.allocations.add(std::move(allocation));
  return 0;
}

}  // namespace softgpu::kfd
