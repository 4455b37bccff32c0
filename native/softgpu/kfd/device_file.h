// The files behind the device nodes: huge sparse memory files, so that what a program maps are plain pages and the
// descriptors can be duplicated, passed on and closed by anybody.
#ifndef WAVESCOPE_SOFTGPU_KFD_DEVICE_FILE_H
#define WAVESCOPE_SOFTGPU_KFD_DEVICE_FILE_H

#include <sys/stat.h>

#include <cstdint>
#include <map>
#include <mutex>
#include <optional>

namespace softgpu::kfd {

constexpr uint64_t device_file_bytes = uint64_t{1} << 47;

// Whether the file could be made so long. Where files are limited in size the process would get a signal instead.
bool grow_file(int descriptor, uint64_t bytes);

class DeviceFile {
 public:
  // Of each stretch of 2^40 bytes only the first `stretch_bytes` are used.
  DeviceFile(const char* name, uint64_t stretch_bytes);
  ~DeviceFile();
  DeviceFile(const DeviceFile&) = delete;
  DeviceFile& operator=(const DeviceFile&) = delete;

  bool is_open() const { return descriptor_ >= 0; }
  // -1 when the program closed it, whatever it may have opened under the same number.
  int descriptor() const;
  bool is_same(const struct stat& status) const { return status.st_ino == inode_ && status.st_dev == device_; }
  // A descriptor for a program; -1 and errno when there is none left.
  int duplicate(bool closes_on_exec) const;

  // Where a process may not have large files, the pages are none of the file's: a program's mmap needs help then.
  bool has_pages() const { return has_pages_; }
  // As mmap does it, of shared pages: at `address` when it is not null.
  void* map(void* address, uint64_t bytes, int protection, uint64_t offset) const;
  // Makes pages zeros again and gives their memory back.
  void clear(uint64_t offset, uint64_t bytes) const;

 private:
  char* anonymous_page(uint64_t offset, uint64_t bytes) const;

  int descriptor_;
  bool has_pages_ = false;
  ino_t inode_ = 0;
  dev_t device_ = 0;
  uint64_t stretch_bytes_;
  mutable std::mutex mutex_;
  mutable std::map<uint64_t, char*> stretches_;  // shared memory without a file, by the number of the stretch
};

// The memory of one GPU: ranges of its render node's file. Memory of the GPU itself is limited, host memory is not.
class GpuFile {
 public:
  enum class Kind { vram, host };

  explicit GpuFile(uint64_t vram_bytes);

  const DeviceFile& file() const { return file_; }
  // The offset of zeroed pages; nothing when there is no room.
  std::optional<uint64_t> reserve(uint64_t bytes, Kind kind);
  void release(uint64_t offset, uint64_t bytes, Kind kind);
  uint64_t vram_bytes() const { return vram_bytes_; }
  uint64_t used_vram_bytes() const;

 private:
  DeviceFile file_;
  uint64_t vram_bytes_;
  mutable std::mutex mutex_;
  uint64_t used_vram_bytes_ = 0;
  std::map<uint64_t, uint64_t> free_;  // offset to bytes
};

}  // namespace softgpu::kfd

#endif
