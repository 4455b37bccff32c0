// What programs pass to ioctl on a render node: the arguments of the graphics driver's calls, as far as they are answered.
#ifndef WAVESCOPE_SOFTGPU_KFD_DRM_ABI_H
#define WAVESCOPE_SOFTGPU_KFD_DRM_ABI_H

#include <cstddef>
#include <cstdint>

namespace softgpu::kfd {

struct DrmVersionArguments {
  int32_t major, minor, patch, reserved;
  uint64_t name_bytes, name_address, date_bytes, date_address, description_bytes, description_address;
};
static_assert(sizeof(DrmVersionArguments) == 64);

struct GemCloseArguments {
  uint32_t handle, reserved;
};
static_assert(sizeof(GemCloseArguments) == 8);

struct PrimeHandleArguments {
  uint32_t handle, flags;
  int32_t descriptor;
};
static_assert(sizeof(PrimeHandleArguments) == 12);

union GemMmapArguments {
  uint32_t handle;
  uint64_t offset;
};
static_assert(sizeof(GemMmapArguments) == 8);

// What programs note at a buffer for others who get it.
struct BufferMetadata {
  uint64_t flags, tiling;
  uint32_t bytes, data[64];
};

enum class GemMetadataOperation : uint32_t { set = 1, get = 2 };

struct GemMetadataArguments {
  uint32_t handle;
  GemMetadataOperation operation;
  BufferMetadata metadata;
};
static_assert(sizeof(GemMetadataArguments) == 288);

enum class GemOperation : uint32_t { tell_creation = 0 };

struct GemOperationArguments {
  uint32_t handle;
  GemOperation operation;
  uint64_t address;  // of what is told
};
static_assert(sizeof(GemOperationArguments) == 16);

struct BufferCreation {
  uint64_t bytes, alignment, domains, domain_flags;
};
static_assert(sizeof(BufferCreation) == 32);
constexpr uint64_t domain_host = 2;
constexpr uint64_t domain_vram = 4;

enum class GpuInfoQuery : uint32_t { acceleration_works = 0x00, device = 0x16, memory = 0x19 };

struct GpuInfoArguments {
  uint64_t result_address;
  uint32_t result_bytes;
  GpuInfoQuery query;
  uint64_t details[2];
};
static_assert(sizeof(GpuInfoArguments) == 32);

struct GpuInfo {
  uint32_t device_id, chip_revision, external_revision, pci_revision, family;
  uint32_t shader_engines, shader_arrays_per_engine, counter_khz;
  uint64_t engine_khz, memory_khz;
  uint32_t active_units, always_on_mask, unit_bitmap[16];
  uint32_t pipes_mask, pipe_count, context_count, pcie_generation;
  uint64_t flags, address_offset, address_end;
  uint32_t address_alignment, fragment_bytes, gart_page_bytes, constant_engine_bytes;
  uint32_t memory_type, memory_bits, video_harvest, double_offchip;
  uint64_t buffer_addresses[4];
  uint32_t buffer_bytes[4];
  uint32_t wavefront_size, visible_registers, units_per_array, cache_blocks;
  uint32_t geometry[3], pcie_lanes, always_on_bitmap[16];
  uint64_t high_address_offset, high_address_end;
};
static_assert(offsetof(GpuInfo, address_offset) == 144);
static_assert(offsetof(GpuInfo, wavefront_size) == 240);
static_assert(offsetof(GpuInfo, high_address_offset) == 336);

struct HeapInfo {
  uint64_t total_bytes, usable_bytes, used_bytes, largest_bytes;
};

struct GpuMemoryInfo {
  HeapInfo vram, host_visible_vram, gtt;
};
static_assert(sizeof(GpuMemoryInfo) == 96);

enum class GemVaOperation : uint32_t { map = 1, unmap = 2, clear = 3, replace = 4 };

struct GemVaArguments {
  uint32_t handle, reserved;
  GemVaOperation operation;
  uint32_t flags;
  uint64_t address, buffer_offset, bytes;
  uint64_t synchronization[3];  // not in older versions
};
static_assert(sizeof(GemVaArguments) == 64);

}  // namespace softgpu::kfd

#endif
