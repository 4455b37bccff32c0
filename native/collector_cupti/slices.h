// When lite mode records kernels, and of which time it can say that it has them all.
//
// Records go on, at times that have nothing to do with the program's, and off again. A kernel has a record if it was
// LAUNCHED meanwhile, but analyses ask which ones BEGAN in a time. Kernels that wait in a stream when a slice begins run
// unrecorded, and those launched in it may run long after it. On each stream kernels begin in the order of their launches,
// so
//
//   - from the first recorded kernel of a stream on, none that was launched before the slice begins there;
//   - up to the last recorded one, and as long as records were on, none that was launched after the slice begins. Where
//     nodes of graphs were left out because their times are not their own (recorded_time.h), only up to the last one.
//
// The window of a slice, its fact, is what holds for all its streams: from the latest of the first begins to the earliest of
// those ends. Streams that have few of the slice's kernels, or were not known before it, would often leave next to nothing:
// of those it is taken that nothing waited in them when the slice began, unless they were behind when it ended. The window
// is empty where streams run far apart.
//
// A slice without kernels is a window of its own where nothing was launched since the slice before: the program idles. Where
// something was, it may still run or wait, and nothing can be said. So totals are to be scaled by counts of kernels, not by
// time.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_SLICES_H
#define WAVESCOPE_COLLECTOR_CUPTI_SLICES_H

#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "collector_cupti/activity_decoder.h"
#include "collector_cupti/clock_pairs.h"

namespace wavescope::cupti {

struct Window {
  uint64_t start_ns = 0;
  uint64_t end_ns = 0;
};

// What is known of a slice when its records are in.
struct SliceEvidence {
  std::vector<KernelStarts> streams;  // that have kernels in it; in CUPTI's time
  uint32_t known_queues = 0;  // queues with a lower number had kernels before it
  ClockPair off;  // when its records went off
  uint64_t idle_from_ns = 0;  // when they went on, if nothing was launched since the slice before; else 0
};

// The window of a slice in the session's time, if there is one.
std::optional<Window> window_of(const SliceEvidence& slice);

// The order of slices in time.
class SliceClock {
 public:
  enum class Phase : uint8_t { kBetween, kOn, kSettling };

  SliceClock(uint64_t length_ns, uint64_t period_ns, uint64_t seed);

  Phase phase() const { return phase_; }

  // Whether the next slice is due; `turned_on` says that it has begun.
  bool is_due(uint64_t now_ns) const { return phase_ == Phase::kBetween && now_ns >= next_ns_; }
  void turned_on(uint64_t now_ns);
  bool is_over(uint64_t now_ns) const { return phase_ == Phase::kOn && now_ns >= on_ns_ + length_ns_; }
  void turned_off();
  // Its records are in, or will not come.
  void settled() { phase_ = Phase::kBetween; }
  // Everything begins anew: the next one at once.
  void restart();

  // How long it may take until something is to be done, when nothing else happens.
  uint64_t sleep_ns(uint64_t now_ns) const;

 private:
  const uint64_t length_ns_;
  const uint64_t period_ns_;
  uint64_t random_;
  Phase phase_ = Phase::kBetween;
  uint64_t on_ns_ = 0;
  uint64_t next_ns_ = 0;
};

// The records of one slice, while they come in.
class SliceRecords {
 public:
  // `missing` and `dropped` are the counts of before; `past` what was decoded since the last slice.
  void begin(const std::vector<KernelStarts>& past, uint64_t missing, uint64_t dropped);
  // Nothing was launched since the last slice began.
  void begins_idle(uint64_t now_ns) { idle_from_ns_ = now_ns; }
  void end(const ClockPair& off) { off_ = off; }
  void add(const std::vector<KernelStarts>& starts, uint64_t now_ns);

  const ClockPair& off() const { return off_; }
  // Whether all records are in, as the counts say, or none came for so long that they are not waited for.
  bool are_in(uint64_t missing, uint64_t now_ns) const;
  bool has_kernels() const { return !starts_.empty(); }
  // None where records were dropped.
  std::optional<Window> window(uint64_t dropped) const;

 private:
  std::map<uint32_t, KernelStarts> starts_;
  uint32_t known_queues_ = 0;
  ClockPair off_;
  uint64_t idle_from_ns_ = 0;
  uint64_t missing_before_ = 0;
  uint64_t dropped_before_ = 0;
  uint64_t newest_ns_ = 0;
};

}  // namespace wavescope::cupti

#endif
