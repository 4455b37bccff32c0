#include "core/stream_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>

#include "core/file_space.h"

namespace wavescope {
namespace {

constexpr uint64_t kFirstGrowth = 16 * StreamFile::kBlockBytes;   // 192 KiB: most processes need no more
constexpr uint64_t kLargestGrowth = 256 * StreamFile::kBlockBytes;  // 3 MiB
constexpr uint64_t kLargestReach = uint64_t{1} << 36;
constexpr uint64_t kSmallestReach = uint64_t{1} << 20;

// Address space for the file; less of it where the process is limited.
char* map_far(int file, uint64_t& reach) {
  for (reach = std::min(kLargestReach, file_size_limit()); reach >= kSmallestReach; reach >>= 2) {
    void* pages = mmap(nullptr, reach, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (pages != MAP_FAILED) return static_cast<char*>(pages);
  }
  return nullptr;
}

}  // namespace

std::unique_ptr<StreamFile> StreamFile::create(const std::string& path, const WavescopeStreamHeader& header,
                                               ByteBudget& budget) {
  const int file = open(path.c_str(), O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0) return nullptr;
  uint64_t reach = 0;
  char* pages = map_far(file, reach);
  if (pages == nullptr) {
    close(file);
    return nullptr;
  }
  std::unique_ptr<StreamFile> stream(new StreamFile(file, pages, reach, header.record_bytes, budget));
  if (!stream->grow_to(WAVESCOPE_PAGE_BYTES)) return nullptr;
  std::memcpy(pages, &header, sizeof header);
  return stream;
}

StreamFile::StreamFile(int file, char* pages, uint64_t reach, uint32_t record_bytes, ByteBudget& budget)
    : file_(file), pages_(pages), reach_(reach), record_bytes_(record_bytes), budget_(budget) {}

StreamFile::~StreamFile() {
  munmap(pages_, reach_);
  close(file_);
}

bool StreamFile::refill(RecordCursor& cursor) {
  {
    const std::lock_guard<std::mutex> lock(spare_mutex_);
    if (!spare_.empty()) {
      cursor = spare_.back();
      spare_.pop_back();
      return true;
    }
  }
  cursor = RecordCursor{nullptr, nullptr};
  if (!budget_.take(kBlockBytes)) {
    lost_.fetch_add(1, std::memory_order_relaxed);
    return false;
  }
  uint64_t first = taken_.load(std::memory_order_relaxed);
  do {
    const uint64_t end = first + kBlockBytes;
    if (end > allocated_.load(std::memory_order_acquire) && !grow_to(end)) {
      lost_.fetch_add(1, std::memory_order_relaxed);
      return false;
    }
  } while (!taken_.compare_exchange_weak(first, first + kBlockBytes, std::memory_order_relaxed));
  cursor = RecordCursor{pages_ + first, pages_ + first + kBlockBytes};
  return true;
}

bool StreamFile::grow_to(uint64_t bytes) {
  const std::lock_guard<std::mutex> lock(grow_mutex_);
  const uint64_t now = allocated_.load(std::memory_order_relaxed);
  if (bytes <= now) return true;
  const uint64_t growth = std::min(std::max(now, kFirstGrowth), kLargestGrowth);
  for (const uint64_t wanted : {now + growth, bytes}) {
    if (wanted < bytes || wanted > reach_ || !allocate_file_space(file_, now, wanted)) continue;
    allocated_.store(wanted, std::memory_order_release);
    return true;
  }
  return false;
}

void StreamFile::give_back(RecordCursor& cursor) {
  if (cursor.next == cursor.end) return;
  const std::lock_guard<std::mutex> lock(spare_mutex_);
  spare_.push_back(cursor);
  cursor = RecordCursor{nullptr, nullptr};
}

}  // namespace wavescope
