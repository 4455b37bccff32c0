// Parameters of captures, graphs, modules and libraries.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_GRAPHS_AND_MODULES_H
#define WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_GRAPHS_AND_MODULES_H

#include <cstddef>
#include <cstdint>

#include "collector_cupti/parameters/layout.h"

namespace wavescope::cupti::parameters {

struct CaptureBegin {
  static constexpr int kFields = 2;
  void* stream;
  uint32_t mode;
  WAVESCOPE_KEEP {
    visitor.number("mode", mode);
    visitor.stream(stream);
  }
};

struct CaptureBeginToGraph {
  static constexpr int kFields = 6;
  void* stream;
  void* graph;
  const void* dependencies;
  const void* dependency_data;
  std::size_t dependency_count;
  uint32_t mode;
  WAVESCOPE_KEEP {
    visitor.address("graph", graph);
    visitor.number("mode", mode);
    visitor.stream(stream);
  }
};

struct CaptureEnd {
  static constexpr int kFields = 2;
  void* stream;
  void** graph;
  WAVESCOPE_KEEP {
    visitor.result("graph", graph);
    visitor.stream(stream);
  }
};

struct GraphCreation {
  static constexpr int kFields = 2;
  void** graph;
  uint32_t flags;
  WAVESCOPE_KEEP { visitor.result("graph", graph); }
};

struct OfGraph {
  static constexpr int kFields = 1;
  void* graph;
  WAVESCOPE_KEEP { visitor.address("graph", graph); }
};

struct OfExecutable {
  static constexpr int kFields = 1;
  void* executable;
  WAVESCOPE_KEEP { visitor.address("executable", executable); }
};

struct LoggedInstantiation {
  static constexpr int kFields = 5;
  void** executable;
  void* graph;
  void** error_node;
  char* log;
  std::size_t log_bytes;
  WAVESCOPE_KEEP {
    visitor.result("executable", executable);
    visitor.address("graph", graph);
  }
};

struct FlaggedInstantiation {
  static constexpr int kFields = 3;
  void** executable;
  void* graph;
  unsigned long long flags;
  WAVESCOPE_KEEP {
    visitor.result("executable", executable);
    visitor.address("graph", graph);
    visitor.number("flags", flags);
  }
};

struct DescribedInstantiation {
  static constexpr int kFields = 3;
  void** executable;
  void* graph;
  void* description;
  WAVESCOPE_KEEP {
    visitor.result("executable", executable);
    visitor.address("graph", graph);
  }
};

struct ExecutableUpdate {
  static constexpr int kFields = 3;
  void* executable;
  void* graph;
  void* outcome;
  WAVESCOPE_KEEP {
    visitor.address("executable", executable);
    visitor.address("graph", graph);
  }
};

struct NodeEnabling {
  static constexpr int kFields = 3;
  void* executable;
  void* node;
  uint32_t enabled;
  WAVESCOPE_KEEP {
    visitor.address("executable", executable);
    visitor.address("node", node);
    visitor.number("enabled", enabled);
  }
};

struct ModuleFile {
  static constexpr int kFields = 2;
  void** module;
  const char* path;
  WAVESCOPE_KEEP {
    visitor.result("module", module);
    visitor.text("path", path);
  }
};

struct ModuleImage {
  static constexpr int kFields = 2;
  void** module;
  const void* image;
  WAVESCOPE_KEEP {
    visitor.result("module", module);
    visitor.address("image", image);
  }
};

struct ModuleImageWithOptions {
  static constexpr int kFields = 5;
  void** module;
  const void* image;
  uint32_t option_count;
  void* options;
  void** option_values;
  WAVESCOPE_KEEP {
    visitor.result("module", module);
    visitor.address("image", image);
  }
};

struct OfModule {
  static constexpr int kFields = 1;
  void* module;
  WAVESCOPE_KEEP { visitor.address("module", module); }
};

struct LibraryImage {
  static constexpr int kFields = 8;
  void** library;
  const void* image;
  void* jit_options;
  void** jit_option_values;
  uint32_t jit_option_count;
  void* library_options;
  void** library_option_values;
  uint32_t library_option_count;
  WAVESCOPE_KEEP {
    visitor.result("library", library);
    visitor.address("image", image);
  }
};

struct LibraryFile {
  static constexpr int kFields = 8;
  void** library;
  const char* path;
  void* jit_options;
  void** jit_option_values;
  uint32_t jit_option_count;
  void* library_options;
  void** library_option_values;
  uint32_t library_option_count;
  WAVESCOPE_KEEP {
    visitor.result("library", library);
    visitor.text("path", path);
  }
};

struct OfLibrary {
  static constexpr int kFields = 1;
  void* library;
  WAVESCOPE_KEEP { visitor.address("library", library); }
};

}  // namespace wavescope::cupti::parameters

#endif
