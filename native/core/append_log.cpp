#include "core/append_log.h"

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "core/file_space.h"

namespace wavescope {
namespace {

constexpr uint64_t kLargeFile = uint64_t{1} << 20;
constexpr uint64_t kStep = uint64_t{8} << 20;

}  // namespace

AppendLog::AppendLog(const std::string& path, ByteBudget& budget)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644)),
      limit_(file_size_limit()),
      budget_(budget) {}

AppendLog::~AppendLog() {
  if (file_ >= 0) close(file_);
}

void AppendLog::lock() {
  if (file_ >= 0) flock(file_, LOCK_EX | LOCK_NB);
}

bool AppendLog::append(const void* bytes, std::size_t count) {
  const iovec piece{const_cast<void*>(bytes), count};
  return append(&piece, 1);
}

bool AppendLog::append(const iovec* pieces, int piece_count) {
  std::size_t count = 0;
  for (int at = 0; at < piece_count; ++at) count += pieces[at].iov_len;
  if (file_ < 0 || count > limit_ - length_ || !budget_.take(count)) return false;
  allocate_ahead(count);
  if (append_bytes(file_, pieces, piece_count, count)) {
    length_ += count;
    return true;
  }
  // A part may have been written when the disk became full: what follows must start where this piece started. If not
  // even that is possible, the file ends here.
  if (ftruncate(file_, static_cast<off_t>(length_)) != 0) {
    close(file_);
    file_ = -1;
  }
  return false;
}

// Files that become large get their space in large steps, which makes writing them a third cheaper.
void AppendLog::allocate_ahead(uint64_t count) {
  if (length_ < kLargeFile || length_ + count <= allocated_) return;
  const uint64_t from = length_ > allocated_ ? length_ : allocated_;
  allocated_ = from + kStep > length_ + count ? from + kStep : length_ + count;
  if (fallocate(file_, FALLOC_FL_KEEP_SIZE, static_cast<off_t>(from), static_cast<off_t>(allocated_ - from)) != 0) {
    allocated_ = UINT64_MAX;  // not on this file system, or not now: do without
  }
}

void AppendLog::trim() {
  if (file_ >= 0 && allocated_ != 0 && ftruncate(file_, static_cast<off_t>(length_)) == 0) allocated_ = length_;
}

}  // namespace wavescope
