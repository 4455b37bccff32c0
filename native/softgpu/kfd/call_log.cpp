#include "softgpu/kfd/call_log.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cstdio>
#include <cstring>
#include <utility>

namespace softgpu::kfd {

CallLog::CallLog(std::string truth_path, const char* verbose)
    : path_(truth_path.empty() ? "" : std::move(truth_path) + ".calls"),
      is_verbose_(verbose && std::strcmp(verbose, "1") == 0) {}

void CallLog::unknown(Device device, unsigned number, size_t bytes) {
  const bool is_kfd = device == Device::kfd;
  const size_t place = (number & 0xff) | (is_kfd ? 0 : 0x100);
  {
    const std::lock_guard<std::mutex> guard(mutex_);
    if (said_[place]) return;
    said_[place] = true;
  }
  char line[120];
  const int length = std::snprintf(line, sizeof line, "wavescope softgpu: unknown call %#x of %zu bytes to %s\n", number,
                                   bytes, is_kfd ? "/dev/kfd" : "a render node");
  if (is_verbose_) syscall(SYS_write, STDERR_FILENO, line, length);
  if (path_.empty()) return;
  constexpr int flags = O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC | O_NOFOLLOW;
  const long file = syscall(SYS_openat, AT_FDCWD, path_.c_str(), flags, 0644);
  if (file < 0) return;
  syscall(SYS_write, file, line, length);
  syscall(SYS_close, file);
}

}  // namespace softgpu::kfd
