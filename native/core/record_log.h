// A file of records that only grows at its end, many at a time by one system call: records that are copied here from where
// they lie cost a third less than through mapped pages. What a killed process leaves is whole up to its last piece.
#ifndef WAVESCOPE_CORE_RECORD_LOG_H
#define WAVESCOPE_CORE_RECORD_LOG_H

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/byte_budget.h"
#include "core/own_file.h"

namespace wavescope {

class RecordLog {
 public:
  RecordLog(const std::string& path, ByteBudget& budget) : file_(path), budget_(budget) {}
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  // Appends all of it or nothing; false when it was refused. At most IOV_MAX pieces. One thread at a time.
  bool append(const iovec* pieces, int piece_count);

  // Why the last one was refused.
  Refusal refusal() const { return refusal_; }

  // Gives back space that was allocated ahead.
  void trim();

 private:
  uint64_t space_wanted(uint64_t end) const;

  OwnFile file_;
  ByteBudget& budget_;
  uint64_t length_ = 0;
  uint64_t allocated_ = 0;
  Refusal refusal_ = Refusal::kNone;
};

}  // namespace wavescope

#endif
