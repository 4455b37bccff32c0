#include "softgpu/kfd/device_file.h"

#include <fcntl.h>
#include <linux/memfd.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>
#include <iterator>

namespace softgpu::kfd {

namespace {

// Out of the way of programs that count on low numbers.
constexpr int first_own_descriptor = 900;
constexpr uint64_t stretch_distance = uint64_t{1} << 40;
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
  rlimit limit{};
  if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur < bytes) return false;
  return syscall(SYS_ftruncate, descriptor, bytes) == 0;
}

DeviceFile::DeviceFile(const char* name, uint64_t stretch_bytes)
    : descriptor_(new_memory_file(name)), stretch_bytes_(stretch_bytes) {
  struct stat status{};
  if (descriptor_ < 0 || syscall(SYS_fstat, descriptor_, &status) != 0) return;
  inode_ = status.st_ino;
  device_ = status.st_dev;
  has_pages_ = grow_file(descriptor_, device_file_bytes);
}

int DeviceFile::descriptor() const {
  struct stat status{};
  return descriptor_ >= 0 && syscall(SYS_fstat, descriptor_, &status) == 0 && is_same(status) ? descriptor_ : -1;
}

DeviceFile::~DeviceFile() {
  const int own = descriptor();
  if (own >= 0) syscall(SYS_close, own);
  for (const auto& [number, first] : stretches_) munmap(first, stretch_bytes_);
}

void* DeviceFile::map(void* address, uint64_t bytes, int protection, uint64_t offset) const {
  if (has_pages_) {
    const int flags = MAP_SHARED | MAP_NORESERVE | (address ? MAP_FIXED : 0);
    return mmap(address, bytes, protection, flags, descriptor(), static_cast<off_t>(offset));
  }
  char* page = anonymous_page(offset, bytes);
  if (!page) {
    errno = ENOMEM;
    return MAP_FAILED;
  }
  // Of nothing becomes another mapping of the same shared pages.
  void* mapped =
      address ? mremap(page, 0, bytes, MREMAP_MAYMOVE | MREMAP_FIXED, address) : mremap(page, 0, bytes, MREMAP_MAYMOVE);
  if (mapped != MAP_FAILED) mprotect(mapped, bytes, protection);
  return mapped;
}

void DeviceFile::clear(uint64_t offset, uint64_t bytes) const {
  if (has_pages_) {
    syscall(SYS_fallocate, descriptor(), FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, offset, bytes);
  } else if (char* page = anonymous_page(offset, bytes)) {
    madvise(page, bytes, MADV_REMOVE);
  }
}

char* DeviceFile::anonymous_page(uint64_t offset, uint64_t bytes) const {
  const uint64_t within = offset % stretch_distance;
  if (bytes > stretch_bytes_ || within > stretch_bytes_ - bytes) return nullptr;
  const std::lock_guard<std::mutex> guard(mutex_);
  char*& first = stretches_[offset / stretch_distance];
  if (!first) {
    const int flags = MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE;
    void* mapped = mmap(nullptr, stretch_bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
    if (mapped == MAP_FAILED) return nullptr;
    madvise(mapped, stretch_bytes_, MADV_DONTFORK);  // a child of fork has no GPU
    first = static_cast<char*>(mapped);
  }
  return first + within;
}

int DeviceFile::duplicate(bool closes_on_exec) const {
  return static_cast<int>(syscall(SYS_fcntl, descriptor(), closes_on_exec ? F_DUPFD_CLOEXEC : F_DUPFD, 0));
}

GpuFile::GpuFile(uint64_t vram_bytes) : file_("softgpu-render", stretch_distance), vram_bytes_(vram_bytes) {
  free_[0] = file_.has_pages() ? device_file_bytes : stretch_distance;
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
  file_.clear(offset, taken);
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
