#include "core/append_log.h"

#include <fcntl.h>
#include <unistd.h>

#include "core/file_space.h"

namespace wavescope {

AppendLog::AppendLog(const std::string& path, ByteBudget& budget)
    : file_(open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_APPEND | O_CLOEXEC, 0644)),
      limit_(file_size_limit()),
      budget_(budget) {}

AppendLog::~AppendLog() {
  if (file_ >= 0) close(file_);
}

bool AppendLog::append(const void* bytes, std::size_t count) {
  if (file_ < 0 || count > limit_ - length_ || !budget_.take(count)) return false;
  if (append_bytes(file_, bytes, count)) {
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

}  // namespace wavescope
