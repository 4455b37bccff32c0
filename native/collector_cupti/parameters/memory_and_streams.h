// Parameters of allocations, streams and events.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_MEMORY_AND_STREAMS_H
#define WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_MEMORY_AND_STREAMS_H

#include <cstddef>
#include <cstdint>

#include "collector_cupti/parameters/layout.h"

namespace wavescope::cupti::parameters {

// Allocations

struct Allocation {
  static constexpr int kFields = 2;
  void** address;
  std::size_t bytes;
  WAVESCOPE_KEEP {
    visitor.result("address", address);
    visitor.number("bytes", bytes);
  }
};

struct FlaggedAllocation {
  static constexpr int kFields = 3;
  void** address;
  std::size_t bytes;
  uint32_t flags;
  WAVESCOPE_KEEP {
    visitor.result("address", address);
    visitor.number("bytes", bytes);
    visitor.number("flags", flags);
  }
};

struct PoolAllocation {
  static constexpr int kFields = 3;
  void** address;
  std::size_t bytes;
  void* pool;
  WAVESCOPE_KEEP {
    visitor.result("address", address);
    visitor.number("bytes", bytes);
    visitor.address("pool", pool);
  }
};

struct PitchedAllocation {
  static constexpr int kFields = 4;
  void** address;
  std::size_t* pitch;
  std::size_t width;
  std::size_t height;
  WAVESCOPE_KEEP {
    visitor.result("address", address);
    visitor.number("bytes", width * height);
  }
};

struct PitchedDriverAllocation {
  static constexpr int kFields = 5;
  void** address;
  std::size_t* pitch;
  std::size_t width;
  std::size_t height;
  uint32_t element_bytes;
  WAVESCOPE_KEEP {
    visitor.result("address", address);
    visitor.number("bytes", width * height);
  }
};

// Memory of a GPU without an address yet.
struct PhysicalAllocation {
  static constexpr int kFields = 4;
  void** handle;
  std::size_t bytes;
  const void* properties;
  uint64_t flags;
  WAVESCOPE_KEEP {
    visitor.result("handle", handle);
    visitor.number("bytes", bytes);
  }
};

struct Mapping {
  static constexpr int kFields = 5;
  void* address;
  std::size_t bytes;
  std::size_t offset;
  void* handle;
  uint64_t flags;
  WAVESCOPE_KEEP {
    visitor.address("address", address);
    visitor.number("bytes", bytes);
    visitor.address("handle", handle);
  }
};

struct Unmapping {
  static constexpr int kFields = 2;
  void* address;
  std::size_t bytes;
  WAVESCOPE_KEEP {
    visitor.address("address", address);
    visitor.number("bytes", bytes);
  }
};

struct Release {
  static constexpr int kFields = 1;
  void* address;
  WAVESCOPE_KEEP { visitor.address("address", address); }
};

struct Registration {
  static constexpr int kFields = 3;
  void* address;
  std::size_t bytes;
  uint32_t flags;
  WAVESCOPE_KEEP {
    visitor.address("address", address);
    visitor.number("bytes", bytes);
    visitor.number("flags", flags);
  }
};

// Streams and events

struct StreamCreation {
  static constexpr int kFields = 1;
  void** created;
  WAVESCOPE_KEEP { visitor.result("created", created); }
};

struct FlaggedStreamCreation {
  static constexpr int kFields = 2;
  void** created;
  uint32_t flags;
  WAVESCOPE_KEEP {
    visitor.result("created", created);
    visitor.number("flags", flags);
  }
};

struct StreamCreationWithPriority {
  static constexpr int kFields = 3;
  void** created;
  uint32_t flags;
  int32_t priority;
  WAVESCOPE_KEEP {
    visitor.result("created", created);
    visitor.number("flags", flags);
    visitor.number("priority", static_cast<uint64_t>(int64_t{priority}));
  }
};

struct OfStream {
  static constexpr int kFields = 1;
  void* handle;
  WAVESCOPE_KEEP { visitor.stream(handle); }
};

struct StreamWait {
  static constexpr int kFields = 3;
  void* stream;
  void* event;
  uint32_t flags;
  WAVESCOPE_KEEP {
    visitor.address("event", event);
    visitor.stream(stream);
  }
};

struct StreamCallback {
  static constexpr int kFields = 4;
  void* stream;
  void* function;
  void* data;
  uint32_t flags;
  WAVESCOPE_KEEP {
    visitor.address("function", function);
    visitor.stream(stream);
  }
};

struct OfEvent {
  static constexpr int kFields = 1;
  void* event;
  WAVESCOPE_KEEP { visitor.address("event", event); }
};

struct FlaggedEventRecord {
  static constexpr int kFields = 3;
  void* event;
  void* stream;
  uint32_t flags;
  WAVESCOPE_KEEP {
    visitor.address("event", event);
    visitor.number("flags", flags);
    visitor.stream(stream);
  }
};

}  // namespace wavescope::cupti::parameters

#endif
