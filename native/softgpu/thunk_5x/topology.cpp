// The nodes, their memories, caches and links. ROCr asserts much of what is set here.
#include <sys/sysinfo.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "softgpu/thunk_5x/machine.h"

namespace {

using namespace softgpu;

constexpr uint32_t cache_count = 2;  // both kinds of agent must have a data cache
constexpr uint32_t gpu_bank_count = 4;
constexpr uint64_t hive_id = 0x50f76b0123456789;

bool has_hive(const Configuration& configuration) {
  return configuration.gpu_count > 1 && configuration.chip->has_xgmi;
}

void set_marketing_name(HsaNodeProperties& properties, const char* name) {
  const size_t length = std::min<size_t>(std::strlen(name), HSA_PUBLIC_NAME_SIZE - 1);
  std::copy(name, name + length, properties.MarketingName);
}

void describe_cpu(HsaNodeProperties& properties) {
  properties.NumCPUCores = static_cast<HSAuint32>(sysconf(_SC_NPROCESSORS_ONLN));
  properties.NumMemoryBanks = 1;
  properties.MaxEngineClockMhzCCompute = 2000;
  set_marketing_name(properties, "Host CPU");
}

void describe_capabilities(const Chip& chip, HsaNodeProperties& properties) {
  properties.Capability.ui32.QueueSizePowerOfTwo = 1;
  properties.Capability.ui32.WatchPointsSupported = 1;
  properties.Capability.ui32.WatchPointsTotalBits = 2;
  properties.Capability.ui32.DoorbellType = 2;  // 64 bit doorbells that take AQL packet indices
  properties.Capability.ui32.ASICRevision = 1;
  properties.Capability.ui32.SRAM_EDCSupport = chip.has_error_correction;
}

void describe_gpu(const Configuration& configuration, uint32_t node, HsaNodeProperties& properties) {
  const Chip& chip = *configuration.chip;
  describe_capabilities(chip, properties);
  properties.NumFComputeCores = chip.compute_units * chip.simds_per_unit;
  properties.NumMemoryBanks = gpu_bank_count;
  properties.FComputeIdLo = 0x80000000U + 1024 * node;
  properties.MaxWavesPerSIMD = chip.waves_per_simd;
  properties.LDSSizeInKB = 64;
  properties.WaveFrontSize = chip.wavefront_size;
  properties.NumShaderBanks = 8;
  properties.NumArrays = 1;
  properties.NumCUPerArray = (chip.compute_units + 7) / 8;
  properties.NumSIMDPerCU = chip.simds_per_unit;
  properties.MaxSlotsScratchCU = 32;
  properties.EngineId.ui32.uCode = 78;
  properties.EngineId.ui32.Major = chip.major & 0x3f;
  properties.EngineId.ui32.Minor = chip.minor & 0xff;
  properties.EngineId.ui32.Stepping = chip.stepping & 0xff;
  properties.VendorId = 0x1002;
  properties.DeviceId = chip.device_id;
  properties.LocationId = (0x20 + node) << 8;  // PCI bus, device, function
  properties.MaxEngineClockMhzFCompute = chip.engine_mhz;
  properties.MaxEngineClockMhzCCompute = 2000;
  properties.DrmRenderMinor = static_cast<HSAint32>(127 + node);
  set_marketing_name(properties, chip.product);
  std::snprintf(reinterpret_cast<char*>(properties.AMDName), sizeof properties.AMDName, "%s", chip.name);
  properties.uCodeEngineVersions.uCodeSDMA = 8;
  properties.HiveID = has_hive(configuration) ? hive_id : 0;
  properties.NumSdmaEngines = 2;
  properties.NumSdmaXgmiEngines = has_hive(configuration) ? 2 : 0;
  properties.NumSdmaQueuesPerEngine = 8;
  properties.NumCpQueues = 24;
  properties.NumGws = 64;
  properties.UniqueID = 0x5057000000000000U + node;
}

void describe_host_memory(HsaMemoryProperties& bank) {
  struct sysinfo system {};
  sysinfo(&system);
  bank.HeapType = HSA_HEAPTYPE_SYSTEM;
  bank.SizeInBytes = uint64_t{system.totalram} * system.mem_unit & ~uint64_t{0xfff};
  bank.Width = 64;
  bank.MemoryClockMax = 3200;
}

void describe_gpu_memory(const Machine& here, HsaMemoryProperties (&banks)[gpu_bank_count]) {
  const Configuration& configuration = *here.configuration;
  banks[0].HeapType =
      configuration.has_large_bar ? HSA_HEAPTYPE_FRAME_BUFFER_PUBLIC : HSA_HEAPTYPE_FRAME_BUFFER_PRIVATE;
  banks[0].SizeInBytes = configuration.memory_bytes;
  banks[0].Width = configuration.chip->memory_bus_bits;
  banks[0].MemoryClockMax = configuration.chip->memory_mhz;
  // Of an aperture only the upper half of the address is used, and must not be 0.
  banks[1].HeapType = HSA_HEAPTYPE_GPU_LDS;
  banks[1].SizeInBytes = uint64_t{64} << 10;
  banks[1].VirtualBaseAddress = uint64_t{1} << 48;
  banks[2].HeapType = HSA_HEAPTYPE_GPU_SCRATCH;
  banks[2].SizeInBytes = uint64_t{4} << 30;
  banks[2].VirtualBaseAddress = uint64_t{2} << 48;
  banks[3].HeapType = HSA_HEAPTYPE_MMIO_REMAP;
  banks[3].SizeInBytes = 4096;
  banks[3].VirtualBaseAddress = reinterpret_cast<uint64_t>(here.register_page);
}

}  // namespace

SOFTGPU_THUNK hsaKmtAcquireSystemProperties(HsaSystemProperties* properties) {
  Machine* here = machine();
  if (!here) return HSAKMT_STATUS_KERNEL_IO_CHANNEL_NOT_OPENED;
  *properties = {};
  properties->NumNodes = 1 + here->configuration->gpu_count;
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtReleaseSystemProperties() { return HSAKMT_STATUS_SUCCESS; }

SOFTGPU_THUNK hsaKmtGetNodeProperties(HSAuint32 node, HsaNodeProperties* properties) {
  Machine* here = machine();
  if (!here || !here->has_node(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  *properties = {};
  properties->NumCaches = cache_count;
  properties->NumIOLinks = here->configuration->gpu_count;  // one to every other node
  if (node == cpu_node) {
    describe_cpu(*properties);
  } else {
    describe_gpu(*here->configuration, node, *properties);
  }
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtGetNodeMemoryProperties(HSAuint32 node, HSAuint32 count, HsaMemoryProperties* banks) {
  Machine* here = machine();
  if (!here || !here->has_node(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  std::fill_n(banks, count, HsaMemoryProperties{});
  if (node == cpu_node) {
    if (count) describe_host_memory(banks[0]);
  } else {
    HsaMemoryProperties all[gpu_bank_count]{};
    describe_gpu_memory(*here, all);
    std::copy_n(all, std::min(count, gpu_bank_count), banks);
  }
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtGetNodeCacheProperties(HSAuint32 node, HSAuint32, HSAuint32 count, HsaCacheProperties* caches) {
  Machine* here = machine();
  if (!here || !here->has_node(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  for (uint32_t level = 0; level < count; ++level) {
    HsaCacheProperties& cache = caches[level];
    cache = {};
    cache.CacheLevel = level + 1;
    cache.CacheSize = level ? here->configuration->chip->l2_kib : 16;
    cache.CacheLineSize = 128;
    cache.CacheType.ui32.Data = 1;
    cache.CacheType.ui32.HSACU = node != cpu_node;
    cache.CacheType.ui32.CPU = node == cpu_node;
  }
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtGetNodeIoLinkProperties(HSAuint32 node, HSAuint32 count, HsaIoLinkProperties* links) {
  Machine* here = machine();
  if (!here || !here->has_node(node)) return HSAKMT_STATUS_INVALID_NODE_UNIT;
  for (uint32_t index = 0; index < count; ++index) {
    const uint32_t other = index < node ? index : index + 1;
    const bool is_fast = node != cpu_node && other != cpu_node && has_hive(*here->configuration);
    HsaIoLinkProperties& link = links[index];
    link = {};
    link.IoLinkType = is_fast ? HSA_IOLINK_TYPE_XGMI : HSA_IOLINKTYPE_PCIEXPRESS;
    link.NodeFrom = node;
    link.NodeTo = other;
    link.Weight = is_fast ? 15 : 20;
    link.MinimumBandwidth = link.MaximumBandwidth = is_fast ? 50'000 : 32'000;
  }
  return HSAKMT_STATUS_SUCCESS;
}

SOFTGPU_THUNK hsaKmtGetTileConfig(HSAuint32, HsaGpuTileConfig* configuration) {
  configuration->NumTileConfigs = configuration->NumMacroTileConfigs = 0;
  configuration->GbAddrConfig = 0x24000042;
  configuration->NumBanks = configuration->NumRanks = 0;
  return HSAKMT_STATUS_SUCCESS;
}
