// A file that only grows at its end, each piece by one write(2): what a killed process leaves is whole up to its last piece.
#ifndef WAVESCOPE_CORE_APPEND_LOG_H
#define WAVESCOPE_CORE_APPEND_LOG_H

#include <sys/uio.h>

#include <cstddef>
#include <cstdint>
#include <string>

#include "core/byte_budget.h"

namespace wavescope {

class AppendLog {
 public:
  AppendLog(const std::string& path, ByteBudget& budget);
  ~AppendLog();
  AppendLog(const AppendLog&) = delete;
  AppendLog& operator=(const AppendLog&) = delete;

  bool usable() const { return file_ >= 0; }

  // Holds a lock on the file as long as the process lives, by which others can tell whether it does.
  void lock();

  // Appends all of it or nothing; false when the disk or the budget refuses. One thread at a time.
  bool append(const void* bytes, std::size_t count);
  // The same for at most IOV_MAX pieces, by one system call.
  bool append(const iovec* pieces, int piece_count);

  // Gives back space that was allocated ahead.
  void trim();

 private:
  void allocate_ahead(uint64_t count);

  int file_;
  const uint64_t limit_;
  uint64_t length_ = 0;
  uint64_t allocated_ = 0;
  ByteBudget& budget_;
};

}  // namespace wavescope

#endif
