#include "softgpu/kfd/dma_buffers.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <iterator>

namespace softgpu::kfd {

namespace {

constexpr char signature_text[16] = "softgpu-dmabuf2";

struct Signature {
  char text[16];
  int32_t process, descriptor;
  uint32_t gpu_index, flags;
  uint64_t offset, bytes;
  BufferMetadata metadata;
};
static_assert(sizeof(Signature) == 328);

// Another process may have written anything.
bool is_plausible(const Signature& signature, uint32_t gpu_count) {
  return std::memcmp(signature.text, signature_text, sizeof signature_text) == 0 && signature.process > 0 &&
         signature.descriptor >= 0 && signature.gpu_index < gpu_count && signature.bytes > 0 &&
         signature.bytes <= device_file_bytes && signature.offset <= device_file_bytes - signature.bytes;
}

// The file of another process's GPU.
int open_file_of(const Signature& signature) {
  char path[64];
  std::snprintf(path, sizeof path, "/proc/%d/fd/%d", signature.process, signature.descriptor);
  const auto descriptor = static_cast<int>(syscall(SYS_openat, AT_FDCWD, path, O_RDWR | O_CLOEXEC | O_NONBLOCK, 0));
  if (descriptor < 0) return -1;
  struct stat status{};
  const bool is_gpu_file = syscall(SYS_fstat, descriptor, &status) == 0 && S_ISREG(status.st_mode) &&
                           status.st_size == static_cast<off_t>(device_file_bytes);
  if (is_gpu_file) return descriptor;
  syscall(SYS_close, descriptor);
  return -1;
}

}  // namespace

int DmaBuffers::exported(const std::shared_ptr<Buffer>& buffer, bool closes_on_exec) {
  const unsigned flags = closes_on_exec ? MFD_CLOEXEC : 0U;
  const auto descriptor = static_cast<int>(syscall(SYS_memfd_create, "softgpu-dmabuf", flags));
  if (descriptor < 0) return -1;
  Signature signature{};
  std::memcpy(signature.text, signature_text, sizeof signature_text);
  signature.process = getpid();
  signature.descriptor = buffer->descriptor();
  signature.gpu_index = buffer->gpu_index();
  signature.flags = buffer->flags();
  signature.offset = buffer->offset();
  signature.bytes = buffer->bytes();
  signature.metadata = buffer->metadata();
  struct stat status{};
  const bool is_written = grow_file(descriptor, buffer->bytes()) &&
                          syscall(SYS_pwrite64, descriptor, &signature, sizeof signature, 0) == sizeof signature &&
                          syscall(SYS_fstat, descriptor, &status) == 0;
  if (!is_written) {
    syscall(SYS_close, descriptor);
    errno = ENOMEM;
    return -1;
  }
  const std::lock_guard<std::mutex> guard(mutex_);
  for (auto known = exported_.begin(); known != exported_.end();) {
    known = known->second.expired() ? exported_.erase(known) : std::next(known);
  }
  exported_[status.st_ino] = buffer;
  return descriptor;
}

std::shared_ptr<Buffer> DmaBuffers::imported(int descriptor) {
  Signature signature{};
  struct stat status{};
  if (syscall(SYS_pread64, descriptor, &signature, sizeof signature, 0) != sizeof signature ||
      !is_plausible(signature, gpu_count_) || syscall(SYS_fstat, descriptor, &status) != 0) {
    return nullptr;
  }
  if (signature.process == getpid()) {
    const std::lock_guard<std::mutex> guard(mutex_);
    const auto found = exported_.find(status.st_ino);
    return found == exported_.end() ? nullptr : found->second.lock();
  }
  const int file = open_file_of(signature);
  if (file < 0) return nullptr;
  auto buffer = Buffer::foreign(file, signature.gpu_index, signature.offset, signature.bytes, signature.flags);
  syscall(SYS_close, file);
  if (buffer) buffer->note(signature.metadata);
  return buffer;
}

}  // namespace softgpu::kfd
