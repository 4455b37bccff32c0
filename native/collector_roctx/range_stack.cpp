#include "collector_roctx/range_stack.h"

#include <algorithm>
#include <cstdlib>

#include "core/clock.h"
#include "core/thread_end.h"

namespace wavescope::roctx {
namespace {

constexpr uint32_t kFirstCapacity = 64;

thread_local RangeStack ranges_of_thread __attribute__((tls_model("initial-exec")));
thread_local bool watched __attribute__((tls_model("initial-exec")));

void end_thread(void* stack) { static_cast<RangeStack*>(stack)->abandon(boottime_ns()); }

}  // namespace

uint32_t RangeStack::depth_of(uint32_t domain) const {
  if (other_domains_ == 0 && domain == 0) return depth_;
  const uint32_t kept = std::min(depth_, capacity_);
  const auto is_of_domain = [domain](const OpenRange& range) { return range.domain == domain; };
  return depth_ - kept + static_cast<uint32_t>(std::count_if(ranges_, ranges_ + kept, is_of_domain));
}

OpenRange RangeStack::pop(uint32_t domain) {
  if (depth_ > capacity_) {
    --depth_;
    return OpenRange{};
  }
  for (uint32_t level = depth_; level > 0; --level) {
    if (ranges_[level - 1].domain == domain) return take(level - 1);
  }
  return OpenRange{};
}

// What lies above it moves down. What is not recorded there is from now on inside of the range around it.
OpenRange RangeStack::take(uint32_t level) {
  const OpenRange taken = ranges_[level];
  const uint32_t around = level == 0 ? 0 : ranges_[level - 1].marker;
  for (uint32_t above = level + 1; above < depth_; ++above) {
    ranges_[above - 1] = ranges_[above];
    if (ranges_[above - 1].marker == taken.marker) ranges_[above - 1].marker = around;
  }
  --depth_;
  if (taken.domain != 0) --other_domains_;
  return taken;
}

uint32_t RangeStack::innermost() const {
  const uint32_t kept = std::min(depth_, capacity_);
  return kept == 0 ? 0 : ranges_[kept - 1].marker;
}

void RangeStack::forget_records() {
  for (uint32_t level = 0; level < std::min(depth_, capacity_); ++level)
    ranges_[level] = {nullptr, 0, ranges_[level].domain};
}

void RangeStack::abandon(uint64_t end_ns) {
  for (uint32_t level = 0; level < std::min(depth_, capacity_); ++level) {
    WavescopeMarkerRecord* record = ranges_[level].record;
    if (record == nullptr) continue;
    record->end = end_ns;
    __atomic_fetch_or(&record->flags, uint8_t{WAVESCOPE_MARKER_ABANDONED}, __ATOMIC_RELEASE);
  }
  std::free(ranges_);
  ranges_ = nullptr;
  depth_ = capacity_ = other_domains_ = 0;
}

bool RangeStack::grow() {
  // A range above one that was not kept must not be kept either: levels would no longer match places.
  if (depth_ > capacity_ || capacity_ >= kMostKept) return false;
  const uint32_t capacity = capacity_ == 0 ? kFirstCapacity : 2 * capacity_;
  void* grown = std::realloc(ranges_, capacity * sizeof(OpenRange));
  if (grown == nullptr) return false;
  ranges_ = static_cast<OpenRange*>(grown);
  capacity_ = capacity;
  return true;
}

RangeStack& thread_ranges() {
  if (__builtin_expect(!watched, 0)) {
    watched = true;
    call_at_thread_end<end_thread>(&ranges_of_thread);
  }
  return ranges_of_thread;
}

}  // namespace wavescope::roctx
