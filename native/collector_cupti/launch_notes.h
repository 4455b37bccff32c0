// What threads leave at a launch for the moment in which its records come: who launched it, in which range, and how its
// kernels were counted. Also tells correlation ids of CUPTI apart that were given out twice.
//
// A table with a place for each of the newest million correlation ids: no lock, no allocation, and what is older is
// forgotten.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_LAUNCH_NOTES_H
#define WAVESCOPE_COLLECTOR_CUPTI_LAUNCH_NOTES_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector_cupti/recorded_time.h"
#include "format/chunk_format.h"

namespace wavescope::cupti {

// How the kernels of a launch were counted: as ones that records will come of, or as skipped for a reason.
class Skipping {
 public:
  constexpr Skipping() = default;
  constexpr explicit Skipping(WavescopeSkipReason reason) : code_(static_cast<uint8_t>(reason + 1)) {}
  static constexpr Skipping from_code(uint8_t code) {
    Skipping skipping;
    skipping.code_ = code;
    return skipping;
  }

  explicit constexpr operator bool() const { return code_ != 0; }
  constexpr WavescopeSkipReason reason() const { return static_cast<WavescopeSkipReason>(code_ - 1); }
  constexpr uint8_t code() const { return code_; }
  constexpr bool operator==(Skipping other) const { return code_ == other.code_; }
  constexpr bool operator!=(Skipping other) const { return code_ != other.code_; }

 private:
  uint8_t code_ = 0;
};

struct LaunchNote {
  uint32_t thread = 0;  // below 2^24; the kernel gives out ids below 2^22
  uint32_t marker = 0;  // id of the innermost open range; 0 for none
  // Its kernels were counted as skipped. Should a record of one come all the same, that kernel is timed and not skipped.
  Skipping skipped{};
  // A graph whose kernels are not known, or a launch that nobody saw: none was counted as seen, each is when its record
  // comes.
  bool counted_by_records = false;
};

class LaunchNotes {
 public:
  static constexpr std::size_t kPlaces = std::size_t{1} << 20;

  LaunchNotes();
  ~LaunchNotes();
  LaunchNotes(const LaunchNotes&) = delete;
  LaunchNotes& operator=(const LaunchNotes&) = delete;

  void put(uint32_t correlation, LaunchNote note);
  // Zeros when it is forgotten; the same, but counted by its records, when there was none.
  LaunchNote find(uint32_t correlation) const;

  // A record of a kernel of this launch came: why that kernel had been counted as skipped, if it had. Each record of a
  // kernel once.
  Skipping count_kernel(uint32_t correlation);
  // So many kernels of this launch count as skipped: as many records as came before were of them, and are not asked about
  // again. Once per launch, when it is over; before, and for records of more kernels than these, none was skipped.
  uint32_t skip(uint32_t correlation, Skipping skipped, uint32_t kernels);

  // To be told when records of kernels go off and on.
  RecordedTime& recorded_time() { return recorded_time_; }
  const RecordedTime& recorded_time() const { return recorded_time_; }

  // A later launch of the same graph, which is not recorded, writes its times where this one's are.
  void overwrite(uint32_t correlation) {
    overwritten_[correlation % kOverwritten].store(correlation, std::memory_order_release);
  }
  bool is_overwritten(uint32_t correlation) const {
    return correlation != 0 && overwritten_[correlation % kOverwritten].load(std::memory_order_acquire) == correlation;
  }

  // CUPTI was finalized, all its records are in, and it will count correlation ids from the beginning: what is known of
  // them is forgotten, and later ones differ from those before.
  void begin_epoch();
  // The correlation id as records carry it, unique in the process.
  uint64_t whole(uint32_t correlation) const { return uint64_t{epoch_.load(std::memory_order_relaxed)} << 32 | correlation; }

 private:
  // Both words name the correlation id: where they differ, another launch took the place meanwhile. The first one is
  // changed as a whole, so that a kernel is counted one way or the other.
  struct Place {
    std::atomic<uint64_t> who;    // upper bits of the id, count of kernels, whether it is used, flags, thread
    std::atomic<uint64_t> where;  // the id, marker
  };
  static_assert(sizeof(Place) == 16, "four to a cache line");

  static constexpr std::size_t kOverwritten = 4096;  // a few for each graph that was running when records went off

  RecordedTime recorded_time_;
  std::atomic<uint32_t> overwritten_[kOverwritten] = {};
  Place* places_;  // null when there is no memory: nothing is known then
  std::atomic<uint32_t> epoch_{0};
};

}  // namespace wavescope::cupti

#endif
