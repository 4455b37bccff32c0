// Op records on their way to the session's file, many by one system call, and with them what they change in the coverage.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_OP_BATCH_H
#define WAVESCOPE_COLLECTOR_CUPTI_OP_BATCH_H

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "collector_cupti/coverage.h"
#include "collector_cupti/launch_notes.h"
#include "core/record_log.h"
#include "core/session.h"
#include "format/chunk_format.h"

namespace wavescope::cupti {

class OpBatch {
 public:
  OpBatch(Session& session, Coverage& coverage);
  OpBatch(const OpBatch&) = delete;
  OpBatch& operator=(const OpBatch&) = delete;

  // Room for one more record, all zero, which the caller fills before the next call.
  WavescopeGraphOpRecord& add() {
    if (__builtin_expect(used_ == records_.size(), 0)) flush();
    return records_[used_++] = WavescopeGraphOpRecord{};
  }

  // The record that was added last is one of a kernel, launched as the note says.
  void count_kernel(uint32_t gpu, const LaunchNote& note, bool has_times) {
    Tally& tally = tallies_[gpu < Coverage::kMostGpus ? gpu : Coverage::kMostGpus - 1];
    if (note.counted_by_records) ++tally.seen;
    const bool is_skipped = note.skipped && !note.counted_by_records;  // of those nothing was counted as skipped
    if (!has_times) tally.without_times += is_skipped ? 0 : 1;
    else if (is_skipped) ++tally.timed_of_skipped[note.skipped.reason()];
    else ++tally.timed;
    tally.is_used = true;
  }

  // A kernel whose record is of no use: it counts as skipped, if it does not already.
  void leave_out_kernel(uint32_t gpu, const LaunchNote& note, WavescopeSkipReason reason) {
    Tally& tally = tallies_[gpu < Coverage::kMostGpus ? gpu : Coverage::kMostGpus - 1];
    if (note.counted_by_records) ++tally.seen;
    if (note.counted_by_records || !note.skipped) ++tally.left_out[reason];
    tally.is_used = true;
    has_left_out_ = true;
  }

  // Writes and counts what was added.
  void flush();
  void trim() {
    if (log_ != nullptr) log_->trim();
  }

 private:
  static constexpr std::size_t kRecords = 2048;

  struct Tally {
    uint64_t seen = 0;
    uint64_t timed = 0;
    uint64_t without_times = 0;
    uint64_t timed_of_skipped[WAVESCOPE_SKIP_REASONS] = {};
    uint64_t left_out[WAVESCOPE_SKIP_REASONS] = {};
    bool is_used = false;
  };

  bool write();
  WavescopeLossReason loss_reason() const;
  void count(uint32_t gpu, const Tally& tally, bool is_written);

  Coverage& coverage_;
  const std::unique_ptr<RecordLog> log_;  // null when it cannot be made
  std::vector<WavescopeGraphOpRecord> records_;
  std::size_t used_ = 0;
  bool has_left_out_ = false;
  Tally tallies_[Coverage::kMostGpus];
};

}  // namespace wavescope::cupti

#endif
