#include "softgpu/file_text.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

namespace softgpu {

std::optional<std::string> file_text(const std::string& path) {
  const long descriptor = syscall(SYS_openat, AT_FDCWD, path.c_str(), O_RDONLY | O_CLOEXEC, 0);
  if (descriptor < 0) return std::nullopt;
  std::string text;
  char block[4096];
  long bytes = 0;
  while ((bytes = syscall(SYS_read, descriptor, block, sizeof block)) > 0) text.append(block, static_cast<size_t>(bytes));
  const int error = errno;
  syscall(SYS_close, descriptor);
  errno = error;
  return bytes < 0 ? std::nullopt : std::optional<std::string>(std::move(text));
}

}  // namespace softgpu
