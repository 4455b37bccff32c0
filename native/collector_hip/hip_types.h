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

struct DriverCopy3D {
  uint32_t source_x, source_y, source_z, source_level;
  int source_type;
  const void* source_host;
  void* source_device;
  void* source_array;
  uint32_t source_pitch, source_height;
  uint32_t target_x, target_y, target_z, target_level;
  int target_type;
  void* target_host;
  void* target_device;
  void* target_array;
  uint32_t target_pitch, target_height;
  uint32_t width, height, depth;
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

struct IpcHandle {
  char reserved[64];
};

inline uint64_t bytes_of(const Extent& extent) { return extent.width * extent.height * extent.depth; }
inline uint64_t bytes_of(const DriverCopy2D& copy) { return copy.width * copy.height; }
inline uint64_t bytes_of(const DriverCopy3D& copy) { return uint64_t{copy.width} * copy.height * copy.depth; }
inline uint64_t bytes_of(const MemsetParameters& fill) { return fill.element_bytes * fill.width * fill.height; }

}  // namespace wavescope::hip

#endif
