// The chips that can be played, one row each.
#ifndef WAVESCOPE_SOFTGPU_TOPOLOGY_H
#define WAVESCOPE_SOFTGPU_TOPOLOGY_H

#include <cstdint>
#include <string>
#include <string_view>

namespace softgpu {

constexpr uint32_t maximum_gpu_count = 16;

struct Chip {
  const char* name;
  const char* product;
  uint32_t major, minor, stepping;
  uint16_t device_id;
  uint32_t compute_units;
  uint32_t simds_per_unit;
  uint32_t waves_per_simd;
  uint32_t wavefront_size;
  uint32_t engine_mhz;
  uint32_t memory_mhz;
  uint32_t memory_bus_bits;
  uint32_t memory_gib;
  uint32_t l2_kib;
  bool has_error_correction;
  bool has_xgmi;
};

const Chip* chip_named(std::string_view name);
std::string chip_names();  // "gfx900, gfx906, ..."

}  // namespace softgpu

#endif
