#include "collector_roctx/started_ranges.h"

#include "core/spare_memory.h"

namespace wavescope::roctx {

bool StartedRanges::add(uint64_t id, const StartedRange& range) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (ranges_.size() >= kMostKept || spare_memory.is_in_use()) return false;
  ranges_[id] = range;
  return true;
}

std::optional<StartedRange> StartedRanges::take(uint64_t id) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto found = ranges_.find(id);
  if (found == ranges_.end()) return std::nullopt;
  const StartedRange range = found->second;
  ranges_.erase(found);
  return range;
}

}  // namespace wavescope::roctx
