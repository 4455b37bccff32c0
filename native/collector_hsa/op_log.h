// The ops stream: filled by the worker, many records at a time.
#ifndef WAVESCOPE_COLLECTOR_HSA_OP_LOG_H
#define WAVESCOPE_COLLECTOR_HSA_OP_LOG_H

#include <cstdint>
#include <memory>

#include "core/append_log.h"
#include "core/session.h"
#include "format/chunk_format.h"

namespace wavescope {

class OpLog {
 public:
  explicit OpLog(Session& session) : log_(session.create_ops_log()) {}

  // Room for one more record; what was put in before may be written first.
  WavescopeOpRecord* next() {
    if (count_ == kRecords) flush();
    return &buffer_[count_++];
  }

  // Writes what was put in.
  void flush() {
    if (count_ == 0) return;
    if (log_ != nullptr && log_->append(buffer_, count_ * sizeof(WavescopeOpRecord))) written_ += count_;
    else refused_ += count_;
    count_ = 0;
  }

  // Records written and refused since the last call, when nothing is in the buffer.
  uint64_t take_written() { return take(written_); }
  uint64_t take_refused() { return take(refused_); }

 private:
  static constexpr uint32_t kRecords = 1024;
  static uint64_t take(uint64_t& number) {
    const uint64_t taken = number;
    number = 0;
    return taken;
  }

  std::unique_ptr<AppendLog> log_;
  uint32_t count_ = 0;
  uint64_t written_ = 0;
  uint64_t refused_ = 0;
  WavescopeOpRecord buffer_[kRecords];
};

}  // namespace wavescope

#endif
