// The few HIP structures whose layout the table of functions needs, declared anew so that no HIP header is needed to build.
// Every handle and pointer is `void*`, every enumeration `int`: the calling convention is the same.
#ifndef WAVESCOPE_COLLECTOR_HIP_HIP_TYPES_H
#define WAVESCOPE_COLLECTOR_HIP_HIP_TYPES_H

#include <cstddef>
#include <cstdint>

namespace wavescope::hip {

struct Dim3 {
  uint32_t x, y, z;
};

struct Extent {
  size_t width, height, depth;
};

struct Position {
  size_t x, y, z;
};

struct PitchedPointer {
  void* pointer;
  size_t pitch, width, height;
};

struct Copy3D {
  void* source_array;
  Position source_position;
  PitchedPointer source;
  void* target_array;
  Position target_position;
  PitchedPointer target;
  Extent extent;
  int kind;
};

struct DriverCopy2D {
  size_t source_x, source_y;
  int source_type;
  const void* source_host;
  void* source_device;
  void* source_array;
  size_t source_pitch;
  size_t target_x, target_y;
  int target_type;
  void* target_host;
  void* target_device;
  void* target_array;
  size_t target_pitch;
  size_t width, height;
};

// HIP 6 made all of its numbers wider (see driver_copy.h).
template <typename Number>
struct DriverCopy3D {
  Number source_x, source_y, source_z, source_level;
  int source_type;
  const void* source_host;
  void* source_device;
  void* source_array;
  Number source_pitch, source_height;
  Number target_x, target_y, target_z, target_level;
  int target_type;
  void* target_host;
  void* target_device;
  void* target_array;
  Number target_pitch, target_height;
  Number width, height, depth;
};

struct PeerCopy3D {
  void* source_array;
  Position source_position;
  PitchedPointer source;
  int source_device;
  void* target_array;
  Position target_position;
  PitchedPointer target;
  int target_device;
  Extent extent;
};

struct MemoryLocation {
  int type;
  int device;
};

struct LaunchParameters {
  void* function;
  Dim3 grid, block;
  void** arguments;
  size_t shared_bytes;
  void* stream;
};

struct FunctionLaunchParameters {
  void* function;
  uint32_t grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void* stream;
  void** arguments;
};

struct LaunchConfig {
  Dim3 grid, block;
  size_t shared_bytes;
  void* stream;
  void* attributes;
  uint32_t attribute_count;
};

struct DriverLaunchConfig {
  uint32_t grid_x, grid_y, grid_z, block_x, block_y, block_z, shared_bytes;
  void* stream;
  void* attributes;
  uint32_t attribute_count;
};

struct KernelNodeParameters {
  Dim3 block;
  void** extra;
  void* function;
  Dim3 grid;
  void** arguments;
  uint32_t shared_bytes;
};

struct MemsetParameters {
  void* target;
  uint32_t element_bytes;
  size_t height, pitch;
  uint32_t value;
  size_t width;
};

// What the driver's functions take is another structure in HIP 7 than before; both begin with the target.
struct AnyMemsetParameters {
  void* target;
};

struct AllocationNodeParameters {
  char pool_properties[88];
  const void* access;
  size_t access_count, bytes;
  void* address;
};

struct NodeParameters {
  int type;
  int reserved[3];
  union {
    KernelNodeParameters kernel;
    long long room[29];
  };
  long long reserved_last;
};

struct IpcHandle {
  char reserved[64];
};

inline uint64_t bytes_of(const Extent& extent) { return extent.width * extent.height * extent.depth; }
inline uint64_t bytes_of(const MemsetParameters& fill) { return fill.element_bytes * fill.width * fill.height; }

// The host stub of a node that launches a kernel; null for the others.
inline const void* kernel_of(const NodeParameters* node) {
  constexpr int kKernel = 0;  // hipGraphNodeTypeKernel
  return node != nullptr && node->type == kKernel ? node->kernel.function : nullptr;
}

}  // namespace wavescope::hip

#endif
