// The ops stream: written by the worker, from where the records were filled in, many runs of them by one system call.
#ifndef WAVESCOPE_COLLECTOR_HSA_OP_LOG_H
#define WAVESCOPE_COLLECTOR_HSA_OP_LOG_H

#include <sys/uio.h>

#include <cstdint>
#include <memory>

#include "core/append_log.h"
#include "core/session.h"
#include "format/chunk_format.h"

namespace wavescope {

class OpLog {
 public:
  explicit OpLog(Session& session) : log_(session.create_ops_log()) {}

  bool is_full() const { return run_count_ == kMostRuns; }

  // Takes note of records to write; they must stay where they are until `flush`.
  void add(const WavescopeOpRecord* records, uint32_t count) {
    runs_[run_count_++] = iovec{const_cast<WavescopeOpRecord*>(records), count * sizeof(WavescopeOpRecord)};
  }

  // Writes them, if need be one run after the other; `refused` is called for each run that could not be written.
  template <typename Refused>
  void flush(Refused refused) {
    const int count = run_count_;
    run_count_ = 0;
    if (count == 0 || (log_ != nullptr && log_->append(runs_, count))) return;
    for (int run = 0; run < count; ++run) {
      if (log_ != nullptr && count > 1 && log_->append(&runs_[run], 1)) continue;
      refused(static_cast<const WavescopeOpRecord*>(runs_[run].iov_base),
              static_cast<uint32_t>(runs_[run].iov_len / sizeof(WavescopeOpRecord)));
    }
  }

  void trim() {
    if (log_ != nullptr) log_->trim();
  }

 private:
  static constexpr int kMostRuns = 64;

  std::unique_ptr<AppendLog> log_;
  int run_count_ = 0;
  iovec runs_[kMostRuns];
};

}  // namespace wavescope

#endif
