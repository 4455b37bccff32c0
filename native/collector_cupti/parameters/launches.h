// Parameters of launches: of kernels, graphs and functions of the host.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_LAUNCHES_H
#define WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_LAUNCHES_H

#include <cstddef>
#include <cstdint>

#include "collector_cupti/parameters/layout.h"

namespace wavescope::cupti::parameters {

struct Dim3 {
  uint32_t x, y, z;
};

struct RuntimeLaunchConfig {
  Dim3 grid;
  Dim3 block;
  std::size_t shared_bytes;
  void* stream;
  void* attributes;
  uint32_t attribute_count;
};

struct DriverLaunchConfig {
  uint32_t grid_x, grid_y, grid_z;
  uint32_t block_x, block_y, block_z;
  uint32_t shared_bytes;
  void* stream;
  void* attributes;
  uint32_t attribute_count;
};

template <typename Visitor>
void keep_launch(Visitor& visitor, Dim3 grid, Dim3 block, uint64_t shared_bytes) {
  visitor.kernel();
  visitor.number("grid_x", grid.x);
  visitor.number("grid_y", grid.y);
  visitor.number("grid_z", grid.z);
  visitor.block(block.x, block.y, block.z);
  visitor.number("shared_bytes", shared_bytes);
}

struct RuntimeLaunch {
  static constexpr int kFields = 5;
  const void* function;
  Dim3 grid;
  Dim3 block;
  void** arguments;
  std::size_t shared_bytes;
  WAVESCOPE_KEEP { keep_launch(visitor, grid, block, shared_bytes); }
};

struct RuntimeLaunchWith {
  static constexpr int kFields = 3;
  const RuntimeLaunchConfig* config;
  const void* function;
  void** arguments;
  WAVESCOPE_KEEP {
    const RuntimeLaunchConfig launch = config == nullptr ? RuntimeLaunchConfig{} : *config;
    keep_launch(visitor, launch.grid, launch.block, launch.shared_bytes);
    visitor.stream(launch.stream);
  }
};

struct DriverLaunch {
  static constexpr int kFields = 11;
  void* function;
  uint32_t grid_x, grid_y, grid_z;
  uint32_t block_x, block_y, block_z;
  uint32_t shared_bytes;
  void* stream;
  void** arguments;
  void** extra;
  WAVESCOPE_KEEP {
    keep_launch(visitor, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes);
    visitor.stream(stream);
  }
};

struct DriverCooperativeLaunch {
  static constexpr int kFields = 10;
  void* function;
  uint32_t grid_x, grid_y, grid_z;
  uint32_t block_x, block_y, block_z;
  uint32_t shared_bytes;
  void* stream;
  void** arguments;
  WAVESCOPE_KEEP {
    keep_launch(visitor, {grid_x, grid_y, grid_z}, {block_x, block_y, block_z}, shared_bytes);
    visitor.stream(stream);
  }
};

struct DriverLaunchWith {
  static constexpr int kFields = 4;
  const DriverLaunchConfig* config;
  void* function;
  void** arguments;
  void** extra;
  WAVESCOPE_KEEP {
    const DriverLaunchConfig launch = config == nullptr ? DriverLaunchConfig{} : *config;
    keep_launch(visitor, {launch.grid_x, launch.grid_y, launch.grid_z}, {launch.block_x, launch.block_y, launch.block_z},
                launch.shared_bytes);
    visitor.stream(launch.stream);
  }
};

struct LaunchOnDevices {
  static constexpr int kFields = 3;
  void* launches;
  uint32_t count;
  uint32_t flags;
  WAVESCOPE_KEEP {
    visitor.kernel();
    visitor.number("count", count);
    visitor.number("flags", flags);
  }
};

struct LaunchOfFunction {
  static constexpr int kFields = 1;
  void* function;
  WAVESCOPE_KEEP { visitor.kernel(); }
};

struct LaunchOfGrid {
  static constexpr int kFields = 3;
  void* function;
  int32_t width;
  int32_t height;
  WAVESCOPE_KEEP {
    visitor.kernel();
    visitor.number("grid_x", static_cast<uint32_t>(width));
    visitor.number("grid_y", static_cast<uint32_t>(height));
  }
};

struct HostFunction {
  static constexpr int kFields = 3;
  void* stream;
  void* function;
  void* data;
  WAVESCOPE_KEEP {
    visitor.address("function", function);
    visitor.stream(stream);
  }
};

struct GraphLaunch {
  static constexpr int kFields = 1;
  void* executable;
  WAVESCOPE_KEEP { visitor.address("graph", executable); }
};

}  // namespace wavescope::cupti::parameters

#endif
