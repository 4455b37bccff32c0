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

OpenRange RangeStack::pop() {
  if (depth_ == 0) return OpenRange{};
  --depth_;
  return depth_ < capacity_ ? ranges_[depth_] : OpenRange{};
}

uint32_t RangeStack::innermost() const {
  const uint32_t kept = std::min(depth_, capacity_);
  return kept == 0 ? 0 : ranges_[kept - 1].marker;
}

void RangeStack::forget_records() { std::fill_n(ranges_, std::min(depth_, capacity_), OpenRange{}); }

void RangeStack::abandon(uint64_t end_ns) {
  for (uint32_t level = 0; level < std::min(depth_, capacity_); ++level) {
    if (ranges_[level].record != nullptr) ranges_[level].record->end = end_ns;
  }
  std::free(ranges_);
  ranges_ = nullptr;
  depth_ = capacity_ = 0;
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
