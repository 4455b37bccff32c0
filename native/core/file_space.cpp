#include "core/file_space.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/types.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

namespace wavescope {
namespace {

// For file systems that cannot allocate ahead: write the zeros.
bool write_zeros(int file, uint64_t begin, uint64_t end) {
  static const char zeros[65536] = {};
  while (begin < end) {
    const uint64_t count = std::min<uint64_t>(sizeof zeros, end - begin);
    const ssize_t written = pwrite(file, zeros, count, static_cast<off_t>(begin));
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return false;
    begin += static_cast<uint64_t>(written);
  }
  return true;
}

}  // namespace

bool allocate_file_space(int file, uint64_t begin, uint64_t end) {
  for (;;) {
    if (fallocate(file, 0, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0) return true;
    if (errno == EINTR) continue;
    if (errno == EOPNOTSUPP || errno == ENOSYS) return write_zeros(file, begin, end);
    return false;
  }
}

bool punch_hole(int file, uint64_t begin, uint64_t end) {
  for (;;) {
    const int how = FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE;
    if (fallocate(file, how, static_cast<off_t>(begin), static_cast<off_t>(end - begin)) == 0) return true;
    if (errno != EINTR) return false;
  }
}

uint64_t file_size_limit() {
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return UINT64_MAX & ~uint64_t{4095};
  return limit.rlim_cur & ~uint64_t{4095};
}

}  // namespace wavescope
