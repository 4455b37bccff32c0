// The nested ranges that a thread has open, for push and pop.
#ifndef WAVESCOPE_COLLECTOR_ROCTX_RANGE_STACK_H
#define WAVESCOPE_COLLECTOR_ROCTX_RANGE_STACK_H

#include <cstdint>

#include "format/chunk_format.h"

namespace wavescope::roctx {

struct OpenRange {
  WavescopeMarkerRecord* record;  // null when it is not recorded
  uint32_t marker;                // what a dispatch inside carries: this range, or the recorded one around it
  uint32_t domain;                // number of its NVTX domain; 0 for the default one and roctx
};

// Plain data, zero at first, so that it can live in thread storage. Levels above the most that are kept are only counted.
class RangeStack {
 public:
  static constexpr uint32_t kMostKept = 1u << 20;

  uint32_t depth() const { return depth_; }
  // Ranges of one domain; those that could not be kept count for each.
  uint32_t depth_of(uint32_t domain) const;

  // Whether the next range can be kept.
  bool has_room() { return depth_ < capacity_ || grow(); }
  void push(const OpenRange& range) {
    if (has_room()) {
      ranges_[depth_] = range;
      if (range.domain != 0) ++other_domains_;
    }
    ++depth_;
  }
  // The innermost range of the domain, taken off; not recorded when there is none or it could not be kept.
  OpenRange pop(uint32_t domain);
  // The marker of the innermost range that is left; 0 for none.
  uint32_t innermost() const;

  // Ranges of a forked parent belong to its files: their levels stay, their records are not ours to close.
  void forget_records();
  // The thread ends: what is still open stays so, with the time of the thread's end.
  void abandon(uint64_t end_ns);

 private:
  bool grow();
  OpenRange take(uint32_t level);

  OpenRange* ranges_;
  uint32_t depth_;
  uint32_t capacity_;
  uint32_t other_domains_;  // kept ranges that are not of the default domain
};

// The stack of the calling thread; released when the thread ends.
RangeStack& thread_ranges();

}  // namespace wavescope::roctx

#endif
