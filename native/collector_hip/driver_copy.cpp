#include "collector_hip/driver_copy.h"

#include <numeric>

#include "collector_hip/real_functions.h"

namespace wavescope::hip {
namespace {

// HIP 6 came with another hipDeviceProp_t, and functions of their own for it.
bool runtime_is_hip_6_or_later() {
  static const bool is_later = find_hip_symbol("hipGetDevicePropertiesR0600") != nullptr;
  return is_later;
}

}  // namespace

DriverCopy driver_copy_3d(const void* copy) {
  if (copy == nullptr) return {};
  if (runtime_is_hip_6_or_later()) return driver_copy(*static_cast<const DriverCopy3D<size_t>*>(copy));
  return driver_copy(*static_cast<const DriverCopy3D<uint32_t>*>(copy));
}

DriverCopy batch_of(void* const* targets, void* const* sources, const size_t* sizes, size_t count) {
  if (targets == nullptr || sources == nullptr || sizes == nullptr || count == 0) return {};
  return {*targets, *sources, std::accumulate(sizes, sizes + count, uint64_t{0}), 0, 0};
}

}  // namespace wavescope::hip
