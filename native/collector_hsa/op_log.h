// The ops stream: written by the worker, from where the records were filled in, many runs of them by one system call.
#ifndef WAVESCOPE_COLLECTOR_HSA_OP_LOG_H
#define WAVESCOPE_COLLECTOR_HSA_OP_LOG_H

#include <sys/uio.h>

#include <algorithm>
#include <cstdint>
#include <memory>

#include "core/record_log.h"
#include "core/session.h"
#include "format/chunk_format.h"

namespace wavescope {

class OpLog {
 public:
  explicit OpLog(Session& session) : log_(session.create_ops_log(sizeof(WavescopeOpRecord))) {}

  bool is_full() const { return run_count_ == kMostRuns; }

  // What WavescopePendingBlock::places is to say of the record that will be added next.
  uint64_t announce() { return ++announced_; }

  // Takes note of records to write, in the order in which they were announced; they must stay where they are until `flush`.
  void add(const WavescopeOpRecord* records, uint64_t* places, uint32_t count) {
    places_[run_count_] = places;
    runs_[run_count_++] = iovec{const_cast<WavescopeOpRecord*>(records), count * sizeof(WavescopeOpRecord)};
  }

  // Writes them, if need be one run after the other; `refused` is called for each run that could not be written.
  template <typename Refused>
  void flush(Refused refused) {
    const int count = run_count_;
    run_count_ = 0;
    if (count == 0) return;
    if (log_ != nullptr && log_->append(runs_, count)) {
      written_ = announced_;
      return;
    }
    // Within a limit on size a part may fit where the whole does not.
    const bool goes_in_parts = log_ != nullptr && log_->refusal() == Refusal::kSizeLimit;
    for (int run = 0; run < count; ++run) {
      const auto records = static_cast<uint32_t>(runs_[run].iov_len / sizeof(WavescopeOpRecord));
      const uint32_t part = goes_in_parts ? kPartRecords : records;
      for (uint32_t first = 0; first < records; first += part) {
        const uint32_t wanted = std::min(part, records - first);
        if (!write_part(run, first, wanted)) refused(static_cast<WavescopeOpRecord*>(runs_[run].iov_base) + first, wanted);
      }
    }
    announced_ = written_;
  }

  // Of what was refused last.
  WavescopeLossReason loss_reason() const {
    if (log_ == nullptr || log_->refusal() == Refusal::kUnreachable) return WAVESCOPE_LOSS_UNREACHABLE;
    return log_->refusal() == Refusal::kNoSpace ? WAVESCOPE_LOSS_NO_SPACE : WAVESCOPE_LOSS_SIZE_LIMIT;
  }

  void trim() {
    if (log_ != nullptr) log_->trim();
  }

 private:
  static constexpr int kMostRuns = 64;
  static constexpr uint32_t kPartRecords = 64;

  bool write_part(int run, uint32_t first, uint32_t count) {
    uint64_t* places = places_[run] + first;
    set_places(places, count, written_ + 1);
    const iovec piece{static_cast<WavescopeOpRecord*>(runs_[run].iov_base) + first, count * sizeof(WavescopeOpRecord)};
    const bool is_written = log_ != nullptr && log_->append(&piece, 1);
    if (is_written) written_ += count;
    else set_places(places, count, WAVESCOPE_PLACE_NOWHERE);
    return is_written;
  }

  static void set_places(uint64_t* places, uint32_t count, uint64_t first) {
    for (uint32_t at = 0; at < count; ++at) {
      const uint64_t place = first == WAVESCOPE_PLACE_NOWHERE ? first : first + at;
      __atomic_store_n(places + at, place, __ATOMIC_RELEASE);
    }
  }

  std::unique_ptr<RecordLog> log_;
  uint64_t written_ = 0;  // records in the file
  uint64_t announced_ = 0;  // and those that are to follow
  int run_count_ = 0;
  iovec runs_[kMostRuns];
  uint64_t* places_[kMostRuns];
};

}  // namespace wavescope

#endif
