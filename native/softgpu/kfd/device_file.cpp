#include "softgpu/kfd/device_file.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace softgpu::kfd {

namespace {

// Out of the way of programs that count on low numbers.
constexpr int first_own_descriptor = 900;
constexpr uint64_t large_page_bytes = uint64_t{2} << 20;

uint64_t whole_pages(uint64_t bytes) { return (bytes + large_page_bytes - 1) & ~(large_page_bytes - 1); }

int new_memory_file(const char* name) {
  const auto low = static_cast<int>(syscall(SYS_memfd_create, name, MFD_CLOEXEC));
  if (low < 0) return low;
  const auto high = static_cast<int>(syscall(SYS_fcntl, low, F_DUPFD_CLOEXEC, first_own_descriptor));
  if (high < 0) return low;
  syscall(SYS_close, low);
  return high;
}

}  // namespace

bool grow_file(int descriptor, uint64_t bytes) {
  rlimit before{};
  if (getrlimit(RLIMIT_FSIZE, &before) != 0) return false;
  const bool is_limited = before.rlim_cur < bytes;
  const rlimit unlimited{RLIM_INFINITY, RLIM_INFINITY};
  if (is_limited && setrlimit(RLIMIT_FSIZE, &unlimited) != 0) return false;
  const bool is_done = syscall(SYS_ftruncate, descriptor, bytes) == 0;
  if (is_limited) setrlimit(RLIMIT_FSIZE, &before);
  return is_done;
}

DeviceFile::DeviceFile(const char* name) : descriptor_(new_memory_file(name)) {
  if (descriptor_ < 0) return;
  struct stat status {};
  if (!grow_file(descriptor_, device_file_bytes) || syscall(SYS_fstat, descriptor_, &status) != 0) {
    syscall(SYS_close, descriptor_);
    descriptor_ = -1;
    return;
  }
  inode_ = status.st_ino;
  device_ = status.st_dev;
}

DeviceFile::~DeviceFile() {
  if (descriptor_ >= 0) syscall(SYS_close, descriptor_);
}

int DeviceFile::duplicate(bool closes_on_exec) const {
  return static_cast<int>(syscall(SYS_fcntl, descriptor_, closes_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 0));
}

GpuFile::GpuFile(uint64_t vram_bytes) : file_("softgpu-render"), vram_bytes_(vram_bytes) {
  free_[0] = device_file_bytes;
}

std::optional<uint64_t> GpuFile::reserve(uint64_t bytes, Kind kind) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (bytes == 0 || bytes > device_file_bytes) return std::nullopt;
  if (kind == Kind::vram && bytes > vram_bytes_ - used_vram_bytes_) return std::nullopt;
  const uint64_t taken = whole_pages(bytes);
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [offset, available] = *range;
    if (available < taken) continue;
    free_.erase(range);
    if (available > taken) free_[offset + taken] = available - taken;
    if (kind == Kind::vram) used_vram_bytes_ += bytes;
    return offset;
  }
  return std::nullopt;
}

void GpuFile::release(uint64_t offset, uint64_t bytes, Kind kind) {
  uint64_t taken = whole_pages(bytes);
  syscall(SYS_fallocate, file_.descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, taken);
  const std::lock_guard<std::mutex> guard(mutex_);
  if (kind == Kind::vram) used_vram_bytes_ -= bytes;
  auto after = free_.upper_bound(offset);
  if (after != free_.end() && after->first == offset + taken) {
    taken += after->second;
    after = free_.erase(after);
  }
  if (after != free_.begin()) {
    const auto before = std::prev(after);
    if (before->first + before->second == offset) {
      before->second += taken;
      return;
    }
  }
  free_[offset] = taken;
}

uint64_t GpuFile::used_vram_bytes() const {
  const std::lock_guard<std::mutex> guard(mutex_);
  return used_vram_bytes_;
}

}  // namespace softgpu::kfd
