// The ranges that are open by start and stop: any thread may stop them.
#ifndef WAVESCOPE_COLLECTOR_ROCTX_STARTED_RANGES_H
#define WAVESCOPE_COLLECTOR_ROCTX_STARTED_RANGES_H

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <optional>
#include <unordered_map>

#include "format/chunk_format.h"

namespace wavescope::roctx {

struct StartedRange {
  WavescopeMarkerRecord* record = nullptr;  // null when it is not recorded
  uint64_t id_of_next = 0;                  // what the library behind this one calls it
};

class StartedRanges {
 public:
  static constexpr std::size_t kMostKept = 1u << 20;

  // False when too many are open, as a program that never stops its ranges must not fill its memory with them, or when it
  // may have no more memory.
  bool add(uint64_t id, const StartedRange& range);
  std::optional<StartedRange> take(uint64_t id);

 private:
  std::mutex mutex_;
  std::unordered_map<uint64_t, StartedRange> ranges_;
};

}  // namespace wavescope::roctx

#endif
