#include "collector_hsa/pending_file.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <cstring>

#include "core/file_space.h"

namespace wavescope {
namespace {

constexpr const char* kFolder = "/dev/shm/";
constexpr uint64_t kReach = WAVESCOPE_PAGE_BYTES + uint64_t{PendingFile::kMostBlocks} * sizeof(WavescopePendingBlock);

uint64_t end_of(uint32_t blocks) { return WAVESCOPE_PAGE_BYTES + uint64_t{blocks} * sizeof(WavescopePendingBlock); }

bool has_no_disk(int file) {
  struct statfs system {};
  return fstatfs(file, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

}  // namespace

PendingFile::PendingFile(const Session& session) : path_(kFolder + ("wavescope-" + session.name()) + ".pending") {
  if (settings().keeps_signals && !create(session)) remove();
}

bool PendingFile::create(const Session& session) {
  file_ = open(path_.c_str(), O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
  if (file_ >= 0) flock(file_, LOCK_EX | LOCK_NB);  // tells others that the process lives
  if (file_ < 0 || !has_no_disk(file_) || file_size_limit() < kReach) return false;
  if (!allocate_file_space(file_, 0, WAVESCOPE_PAGE_BYTES)) return false;
  void* pages = mmap(nullptr, kReach, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file_, 0);
  if (pages == MAP_FAILED) return false;
  pages_ = static_cast<char*>(pages);
  const WavescopeStreamHeader header = session.header_of(WAVESCOPE_STREAM_PENDING, sizeof(WavescopePendingBlock));
  std::memcpy(pages_, &header, sizeof header);
  // The folder follows, so that what nobody fetched can be told from what somebody still wants.
  std::strncpy(pages_ + sizeof header, session.folder().c_str(), WAVESCOPE_PAGE_BYTES - sizeof header - 1);
  return true;
}

WavescopePendingBlock* PendingFile::take() {
  if (pages_ == nullptr || taken_ == kMostBlocks) return nullptr;
  if (taken_ == allocated_) {
    if (!allocate_file_space(file_, end_of(allocated_), end_of(allocated_ + 1))) return nullptr;
    ++allocated_;
  }
  auto* block = reinterpret_cast<WavescopePendingBlock*>(pages_ + end_of(taken_++));
  std::memset(static_cast<void*>(block), 0, sizeof *block);
  return block;
}

void PendingFile::take_back_all() {
  for (uint32_t index = 0; index < taken_; ++index) {
    auto* block = reinterpret_cast<WavescopePendingBlock*>(pages_ + end_of(index));
    __atomic_store_n(&block->filled, uint64_t{0}, __ATOMIC_RELEASE);
  }
  taken_ = 0;
}

void PendingFile::remove() {
  if (file_ < 0) return;
  unlink(path_.c_str());
  close(file_);
  file_ = -1;
}

}  // namespace wavescope
