// Parameters of copies and fills.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_COPIES_H
#define WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_COPIES_H

#include <cstddef>
#include <cstdint>

#include "collector_cupti/parameters/layout.h"

namespace wavescope::cupti::parameters {

struct Copy {
  static constexpr int kFields = 3;
  const void* dst;
  const void* src;
  std::size_t bytes;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.address("src", src);
    visitor.number("bytes", bytes);
  }
};

struct CopyOfKind {
  static constexpr int kFields = 4;
  void* dst;
  const void* src;
  std::size_t bytes;
  uint32_t kind;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.address("src", src);
    visitor.number("bytes", bytes);
    visitor.number("kind", kind);
  }
};

struct Copy2D {
  static constexpr int kFields = 7;
  void* dst;
  std::size_t dst_pitch;
  const void* src;
  std::size_t src_pitch;
  std::size_t width;
  std::size_t height;
  uint32_t kind;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.address("src", src);
    visitor.number("bytes", width * height);
    visitor.number("kind", kind);
  }
};

struct SymbolCopy {
  static constexpr int kFields = 5;
  const void* dst;
  const void* src;
  std::size_t bytes;
  std::size_t offset;
  uint32_t kind;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.address("src", src);
    visitor.number("bytes", bytes);
    visitor.number("offset", offset);
    visitor.number("kind", kind);
  }
};

struct DevicePeerCopy {
  static constexpr int kFields = 5;
  void* dst;
  int32_t dst_device;
  const void* src;
  int32_t src_device;
  std::size_t bytes;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.number("dst_device", static_cast<uint32_t>(dst_device));
    visitor.address("src", src);
    visitor.number("src_device", static_cast<uint32_t>(src_device));
    visitor.number("bytes", bytes);
  }
};

struct ContextPeerCopy {
  static constexpr int kFields = 5;
  void* dst;
  void* dst_context;
  void* src;
  void* src_context;
  std::size_t bytes;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.address("src", src);
    visitor.number("bytes", bytes);
  }
};

// A pointer to what is to be copied, which is not looked into.
struct DescribedCopy {
  static constexpr int kFields = 1;
  const void* description;
  WAVESCOPE_KEEP {}
};

struct Prefetch {
  static constexpr int kFields = 3;
  const void* address;
  std::size_t bytes;
  int32_t device;
  WAVESCOPE_KEEP {
    visitor.address("address", address);
    visitor.number("bytes", bytes);
    visitor.number("device", static_cast<uint32_t>(device));
  }
};

struct RuntimeFill {
  static constexpr int kFields = 3;
  void* dst;
  int32_t value;
  std::size_t bytes;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.number("bytes", bytes);
    visitor.number("value", static_cast<uint32_t>(value));
  }
};

struct RuntimeFill2D {
  static constexpr int kFields = 5;
  void* dst;
  std::size_t pitch;
  int32_t value;
  std::size_t width;
  std::size_t height;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.number("bytes", width * height);
    visitor.number("value", static_cast<uint32_t>(value));
  }
};

template <typename Value>
struct DriverFill {
  static constexpr int kFields = 3;
  void* dst;
  Value value;
  std::size_t count;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.number("bytes", count * sizeof(Value));
    visitor.number("value", value);
  }
};

template <typename Value>
struct DriverFill2D {
  static constexpr int kFields = 5;
  void* dst;
  std::size_t pitch;
  Value value;
  std::size_t width;
  std::size_t height;
  WAVESCOPE_KEEP {
    visitor.address("dst", dst);
    visitor.number("bytes", width * height * sizeof(Value));
    visitor.number("value", value);
  }
};

}  // namespace wavescope::cupti::parameters

#endif
