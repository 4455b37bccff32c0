// Render nodes: what libdrm asks to know a GPU, and the handles by which buffers are mapped and shared.
#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>

#include "softgpu/kfd/drm_abi.h"
#include "softgpu/kfd/ioctl_table.h"
#include "softgpu/kfd/ioctls.h"
#include "softgpu/kfd/kfd_abi.h"
#include "softgpu/kfd/user_memory.h"

namespace softgpu::kfd {

namespace {

struct RenderNode {
  Machine& machine;
  uint32_t gpu_index;

  const GpuFacts& facts() const { return machine.tree.gpus[gpu_index]; }
};

// The caller first asks for the length, then for as much of the text as it has room for.
bool answer_text(std::string_view text, uint64_t address, uint64_t& bytes) {
  const size_t room = std::min<uint64_t>(bytes, text.size());
  bytes = text.size();
  return !address || write_user(address, text.data(), room);
}

int get_drm_version(RenderNode&, DrmVersionArguments& version) {
  version.major = 3;  // demanded by libdrm
  version.minor = 59;
  version.patch = 0;
  const bool is_written = answer_text("amdgpu", version.name_address, version.name_bytes) &&
                          answer_text("20150101", version.date_address, version.date_bytes) &&
                          answer_text("AMD GPU", version.description_address, version.description_bytes);
  return is_written ? 0 : EFAULT;
}

GpuInfo gpu_info(const GpuFacts& facts) {
  constexpr uint32_t first_of_gfx10 = 100'000;
  constexpr uint32_t first_of_gfx11 = 110'000;
  GpuInfo info{};
  info.device_id = facts.device_id;
  info.chip_revision = 1;
  info.external_revision = 0x3c;
  info.pci_revision = 2;
  info.family = facts.target_version < first_of_gfx10 ? 141 : facts.target_version < first_of_gfx11 ? 143 : 145;
  info.shader_engines = facts.shader_arrays / facts.arrays_per_engine;
  info.shader_arrays_per_engine = facts.arrays_per_engine;
  info.counter_khz = gpu_clock_hz / 1000;
  info.engine_khz = uint64_t{facts.engine_mhz} * 1000;
  info.memory_khz = uint64_t{facts.memory_mhz} * 1000;
  info.active_units = facts.simd_count / facts.simds_per_unit;
  info.address_offset = 0x20'0000;
  info.address_end = uint64_t{1} << 47;
  info.address_alignment = 4096;
  info.fragment_bytes = 0x20'0000;
  info.gart_page_bytes = 4096;
  info.memory_type = 6;  // HBM
  info.memory_bits = facts.memory_bits;
  info.wavefront_size = facts.wavefront_size;
  info.units_per_array = facts.units_per_array;
  info.high_address_offset = 0xffff'8000'0000'0000;
  info.high_address_end = 0xffff'ffff'ffe0'0000;
  return info;
}

GpuMemoryInfo gpu_memory_info(const GpuFile& file) {
  GpuMemoryInfo info{};
  info.vram = {file.vram_bytes(), file.vram_bytes(), file.used_vram_bytes(), file.vram_bytes()};
  info.host_visible_vram = info.vram;
  const uint64_t gtt_bytes = uint64_t{16} << 30;
  info.gtt = {gtt_bytes, gtt_bytes, 0, gtt_bytes};
  return info;
}

// Answers of any length: what is not known is 0.
int get_gpu_info(RenderNode& node, GpuInfoArguments& arguments) {
  constexpr uint32_t longest_answer = 1U << 16;
  if (arguments.result_bytes == 0 || arguments.result_bytes > longest_answer) return EINVAL;
  std::vector<char> answer(arguments.result_bytes);
  const auto put = [&](const auto& value) { std::memcpy(answer.data(), &value, std::min(answer.size(), sizeof value)); };
  switch (arguments.query) {
    case GpuInfoQuery::acceleration_works: put(uint32_t{1}); break;
    case GpuInfoQuery::device: put(gpu_info(node.facts())); break;
    case GpuInfoQuery::memory: put(gpu_memory_info(*node.machine.gpu_files[node.gpu_index])); break;
  }
  return write_user(arguments.result_address, answer.data(), answer.size()) ? 0 : EFAULT;
}

int prime_to_handle(RenderNode& node, PrimeHandleArguments& arguments) {
  auto buffer = node.machine.dma_buffers.imported(arguments.descriptor);
  if (!buffer) return EINVAL;
  arguments.handle = node.machine.gem_handles.add(std::move(buffer));
  return 0;
}

int close_handle(RenderNode& node, GemCloseArguments& arguments) {
  return node.machine.gem_handles.remove(arguments.handle) ? 0 : EINVAL;
}

int get_mmap_offset(RenderNode& node, GemMmapArguments& arguments) {
  const auto buffer = node.machine.gem_handles.find(arguments.handle);
  if (!buffer) return ENOENT;
  if (buffer->is_foreign() || buffer->gpu_index() != node.gpu_index) return EINVAL;  // in another file
  arguments.offset = buffer->offset();
  return 0;
}

int metadata_of_buffer(RenderNode& node, GemMetadataArguments& arguments) {
  const auto buffer = node.machine.gem_handles.find(arguments.handle);
  if (!buffer) return ENOENT;
  switch (arguments.operation) {
    case GemMetadataOperation::set:
      if (arguments.metadata.bytes > sizeof arguments.metadata.data) return EINVAL;
      buffer->note(arguments.metadata);
      return 0;
    case GemMetadataOperation::get: arguments.metadata = buffer->metadata(); return 0;
  }
  return EINVAL;
}

int operate_on_buffer(RenderNode& node, GemOperationArguments& arguments) {
  const auto buffer = node.machine.gem_handles.find(arguments.handle);
  if (!buffer) return ENOENT;
  if (arguments.operation != GemOperation::tell_creation) return EINVAL;
  constexpr uint64_t buffer_alignment = 4096;
  const uint64_t domain = buffer->flags() & memory_vram ? domain_vram : domain_host;
  const BufferCreation creation{buffer->bytes(), buffer_alignment, domain, 0};
  return write_user(arguments.address, &creation, sizeof creation) ? 0 : EFAULT;
}

int change_mapping(RenderNode& node, GemVaArguments& arguments) {
  GpuMappings& mappings = node.machine.mappings;
  switch (arguments.operation) {
    case GemVaOperation::map:
    case GemVaOperation::replace: {
      const auto buffer = node.machine.gem_handles.find(arguments.handle);
      if (!buffer) return ENOENT;
      const MappedRange range{arguments.address, arguments.buffer_offset, arguments.bytes};
      return mappings.map(node.gpu_index, buffer, range) ? 0 : EINVAL;
    }
    case GemVaOperation::unmap:
    case GemVaOperation::clear: mappings.unmap(node.gpu_index, arguments.address); return 0;
  }
  return EINVAL;
}

constexpr Ioctl<RenderNode> calls[] = {
    Handled<get_drm_version>::as(0x00, "VERSION"),
    Handled<close_handle>::as(0x09, "GEM_CLOSE"),
    Handled<prime_to_handle>::as(0x2e, "PRIME_FD_TO_HANDLE"),
    Handled<get_mmap_offset>::as(0x41, "AMDGPU_GEM_MMAP"),
    Handled<get_gpu_info>::as(0x45, "AMDGPU_INFO"),
    Handled<metadata_of_buffer>::as(0x46, "AMDGPU_GEM_METADATA"),
    Handled<change_mapping>::as(0x48, "AMDGPU_GEM_VA"),
    Handled<operate_on_buffer>::as(0x50, "AMDGPU_GEM_OP"),
};

}  // namespace

int render_ioctl(Machine& machine, uint32_t gpu_index, unsigned long request, void* user) {
  const unsigned number = _IOC_NR(request);
  RenderNode node{machine, gpu_index};
  const Ioctl<RenderNode>* call = find_ioctl(calls, number);
  if (call) return run_ioctl(*call, node, request, user);
  machine.call_log.unknown(CallLog::Device::render, number, _IOC_SIZE(request));
  return EINVAL;
}

}  // namespace softgpu::kfd
