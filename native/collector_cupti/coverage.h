// Kernels seen, timed, skipped and lost, per GPU, in the counters stream: additions of any thread.
//
// At the end what was seen is timed, skipped or lost, in sum over the GPUs. Kernels that other kernels launched, or calls
// whose end was not told of, are timed without having been seen before the end.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_COVERAGE_H
#define WAVESCOPE_COLLECTOR_CUPTI_COVERAGE_H

#include <atomic>
#include <cstdint>
#include <mutex>

#include "core/session.h"
#include "format/chunk_format.h"

namespace wavescope::cupti {

class Coverage {
 public:
  static constexpr uint32_t kMostGpus = 64;  // what is of a later one counts as of the last

  explicit Coverage(Session& session) : session_(session) {}
  Coverage(const Coverage&) = delete;
  Coverage& operator=(const Coverage&) = delete;

  void add_seen(uint32_t gpu, uint64_t kernels) { add(record_of(gpu).seen, kernels); }
  void add_timed(uint32_t gpu, uint64_t kernels) { add(record_of(gpu).timed, kernels); }
  void add_skipped(uint32_t gpu, WavescopeSkipReason reason, uint64_t kernels) {
    add(record_of(gpu).skipped[reason], kernels);
  }
  // They were counted as skipped, on this GPU or another: fewer are from now on, but never fewer than none.
  void take_skipped(uint32_t gpu, WavescopeSkipReason reason, uint64_t kernels);
  // The same, because their records came.
  void add_timed_of_skipped(uint32_t gpu, WavescopeSkipReason reason, uint64_t kernels);
  void add_lost(uint32_t gpu, WavescopeLossReason reason, uint64_t kernels) { add(record_of(gpu).lost[reason], kernels); }

  // Of all GPUs: seen less what is accounted for.
  uint64_t missing() const;
  // Of all GPUs.
  uint64_t seen() const;
  uint64_t lost(WavescopeLossReason reason) const;
  // When no more records will come of what was launched so far: what is missing is lost for this reason.
  void settle(WavescopeLossReason reason);
  // The same at the very end, after which nothing is added: what is accounted for without having been seen was seen.
  void close(WavescopeLossReason reason);

 private:
  static void add(uint64_t& counter, uint64_t count) { __atomic_fetch_add(&counter, count, __ATOMIC_RELAXED); }

  WavescopeCounterRecord& record_of(uint32_t gpu) {
    const uint32_t place = gpu < kMostGpus ? gpu : kMostGpus - 1;
    WavescopeCounterRecord* record = records_[place].load(std::memory_order_acquire);
    return __builtin_expect(record != nullptr, 1) ? *record : make(place);
  }
  WavescopeCounterRecord& make(uint32_t gpu);
  int64_t balance() const;

  Session& session_;
  std::mutex mutex_;  // of making one
  std::atomic<WavescopeCounterRecord*> records_[kMostGpus] = {};
};

}  // namespace wavescope::cupti

#endif
