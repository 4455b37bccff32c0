// A file of records that only grows at its end, many at a time by one system call: records that are copied here from where
// they lie cost a third less than through mapped pages. What a killed process leaves is whole up to its last piece. The
// first page is the header; the records that follow may be dropped, the oldest first.
#ifndef WAVESCOPE_CORE_RECORD_LOG_H
#define WAVESCOPE_CORE_RECORD_LOG_H

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <mutex>
#include <string>
#include <vector>

#include "core/dropped_ops.h"
#include "core/own_file.h"
#include "core/record_space.h"

namespace wavescope {

class RecordLog final : public SpentStream {
 public:
  RecordLog(const std::string& path, uint32_t record_bytes, RecordSpace& space);
  RecordLog(const RecordLog&) = delete;
  RecordLog& operator=(const RecordLog&) = delete;

  bool can_drop() const { return can_drop_; }

  // Appends all of it or nothing; false when it was refused. At most IOV_MAX pieces. One thread at a time.
  bool append(const iovec* pieces, int piece_count);

  // Why the last one was refused.
  Refusal refusal() const { return refusal_; }

  // Gives back space that was allocated ahead.
  void trim();

 private:
  bool is_over(const FilePart&) override { return true; }
  void drop(const std::vector<FilePart>& parts) override;
  Refusal write(const iovec* pieces, int piece_count, std::size_t count);
  void add_filled_segments();
  uint64_t space_wanted(uint64_t end) const;

  OwnFile file_;
  std::mutex file_mutex_;  // of `file_`: who drops records is another thread than who writes them
  const uint32_t record_bytes_;
  RecordSpace& space_;
  const bool can_drop_;
  DroppedOps dropped_;
  uint64_t filled_end_ = WAVESCOPE_PAGE_BYTES;  // of the segments that may be dropped
  uint64_t length_ = 0;
  uint64_t allocated_ = 0;
  Refusal refusal_ = Refusal::kNone;
};

}  // namespace wavescope

#endif
