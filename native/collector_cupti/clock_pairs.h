// Facts that tie CUPTI's time to that of the session: pairs of readings, a few times a second.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_CLOCK_PAIRS_H
#define WAVESCOPE_COLLECTOR_CUPTI_CLOCK_PAIRS_H

#include <atomic>
#include <cstdint>
#include <mutex>

#include "collector_cupti/cupti_library.h"
#include "core/facts_log.h"

namespace wavescope::cupti {

struct ClockPair {
  uint64_t ticks = 0;  // CUPTI's nanoseconds; 0: not known
  uint64_t ns = 0;     // of the session
};

// The best of a few readings between two of our clock. Zeros when CUPTI does not answer.
ClockPair read_clocks(const CuptiLibrary& library);

class ClockPairs {
 public:
  ClockPairs(const CuptiLibrary& library, FactsLog& facts) : library_(library), facts_(facts) {}
  ClockPairs(const ClockPairs&) = delete;
  ClockPairs& operator=(const ClockPairs&) = delete;

  // Reads a pair and writes it for the GPUs (one bit each). The worker only.
  void take(uint64_t gpus);

  // Writes the very first pair, which is from before their first record, and the newest for GPUs that have none yet. Any
  // thread; costs one load when there is nothing new.
  void introduce(uint64_t gpus);

  ClockPair newest() const;

 private:
  void write(uint64_t gpus, const ClockPair& pair);

  const CuptiLibrary& library_;
  FactsLog& facts_;
  mutable std::mutex mutex_;
  ClockPair first_;
  ClockPair newest_;
  std::atomic<uint64_t> introduced_{0};
};

}  // namespace wavescope::cupti

#endif
