#include "softgpu/topology.h"

namespace softgpu {

namespace {

constexpr Chip chips[] = {
    // name, product, ISA version, PCI device, CUs, SIMDs, waves, wavefront, MHz, memory MHz, bits, GiB, L2 KiB, ECC, XGMI
    {"gfx900", "Software gfx900", 9, 0, 0, 0x6860, 56, 4, 10, 64, 1500, 945, 2048, 16, 4096, false, false},
    {"gfx906", "Software gfx906", 9, 0, 6, 0x66a1, 60, 4, 10, 64, 1725, 1000, 4096, 32, 4096, true, true},
    {"gfx908", "Software gfx908", 9, 0, 8, 0x738c, 120, 4, 10, 64, 1502, 1200, 4096, 32, 8192, true, true},
    {"gfx90a", "Software gfx90a", 9, 0, 10, 0x740f, 104, 4, 8, 64, 1700, 1600, 4096, 64, 8192, true, true},
    {"gfx1030", "Software gfx1030", 10, 3, 0, 0x73bf, 72, 2, 16, 32, 2100, 1000, 256, 16, 4096, false, false},
};

}  // namespace

const Chip* chip_named(std::string_view name) {
  for (const Chip& chip : chips) {
    if (name == chip.name) return &chip;
  }
  return nullptr;
}

std::string chip_names() {
  std::string names;
  for (const Chip& chip : chips) names += (names.empty() ? "" : ", ") + std::string(chip.name);
  return names;
}

}  // namespace softgpu
