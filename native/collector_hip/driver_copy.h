// What is kept of the copies that a program describes by one of the driver's structures, or by lists.
#ifndef WAVESCOPE_COLLECTOR_HIP_DRIVER_COPY_H
#define WAVESCOPE_COLLECTOR_HIP_DRIVER_COPY_H

#include <cstddef>
#include <cstdint>

#include "collector_hip/hip_types.h"

namespace wavescope::hip {

struct DriverCopy {
  const void* target = nullptr;
  const void* source = nullptr;
  uint64_t bytes = 0, width = 0, height = 0;
};

inline DriverCopy driver_copy(const DriverCopy2D& copy) {
  return {copy.target_device, copy.source_device, uint64_t{copy.width} * copy.height, copy.width, copy.height};
}

template <typename Number>
DriverCopy driver_copy(const DriverCopy3D<Number>& copy) {
  return {copy.target_device, copy.source_device, uint64_t{copy.width} * copy.height * copy.depth, copy.width, copy.height};
}

// A HIP_MEMCPY3D as the loaded runtime declares it; zeros for null.
DriverCopy driver_copy_3d(const void* copy);

// The first ends of a batch of copies and the bytes of all of them; zeros when the runtime will refuse it unread.
DriverCopy batch_of(void* const* targets, void* const* sources, const size_t* sizes, size_t count);

}  // namespace wavescope::hip

#endif
