#include "collector_hsa/pending_file.h"

#include <linux/magic.h>
#include <sys/vfs.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

namespace wavescope {
namespace {

constexpr const char* kFolder = "/dev/shm/";
constexpr uint32_t kMostBlocksAtOnce = 8;

uint64_t end_of(uint32_t blocks) { return WAVESCOPE_PAGE_BYTES + uint64_t{blocks} * sizeof(WavescopePendingBlock); }

bool has_no_disk(const char* folder) {
  struct statfs system{};
  return statfs(folder, &system) == 0 && system.f_type == TMPFS_MAGIC;
}

}  // namespace

PendingFile::PendingFile(const Session& session) {
  if (!settings().keeps_signals || !has_no_disk(kFolder)) return;
  file_.emplace(kFolder + ("wavescope-" + session.name()) + ".pending");
  if (file_->map(0, WAVESCOPE_PAGE_BYTES, header_) == Refusal::kNone) describe(session);
  else remove();
}

// The folder follows the header, so that what nobody fetched can be told from what somebody still wants, and the namespace
// in which the process has its number.
void PendingFile::describe(const Session& session) {
  const WavescopeStreamHeader header = session.header_of(WAVESCOPE_STREAM_PENDING, sizeof(WavescopePendingBlock));
  std::memcpy(header_.pages, &header, sizeof header);
  char* const folder = header_.pages + sizeof header;
  const std::size_t room = WAVESCOPE_PAGE_BYTES - sizeof header - kNamespaceBytes;
  const std::size_t length = std::min(session.folder().size(), room - 1);
  std::memcpy(folder, session.folder().data(), length);
  if (readlink("/proc/self/ns/pid", folder + length + 1, kNamespaceBytes - 1) < 0) folder[length + 1] = '\0';
}

WavescopePendingBlock* PendingFile::take() {
  if (!header_.is_mapped() || taken_ == kMostBlocks) return nullptr;
  const uint32_t many = std::min({std::max(mapped_ / 2, 1u), kMostBlocksAtOnce, kMostBlocks - mapped_});
  if (taken_ == mapped_ && !map_more(many) && !map_more(1)) return nullptr;
  WavescopePendingBlock* block = blocks_[taken_++];
  std::memset(static_cast<void*>(block), 0, sizeof *block);
  return block;
}

bool PendingFile::map_more(uint32_t blocks) {
  FileWindow window;
  if (file_->map(end_of(mapped_), end_of(mapped_ + blocks), window) != Refusal::kNone) return false;
  auto* first = reinterpret_cast<WavescopePendingBlock*>(window.pages);
  for (uint32_t index = 0; index < blocks; ++index) blocks_[mapped_++] = first + index;
  return true;
}

void PendingFile::take_back_all() {
  for (uint32_t index = 0; index < taken_; ++index) {
    __atomic_store_n(&blocks_[index]->filled, uint64_t{0}, __ATOMIC_RELEASE);
  }
  taken_ = 0;
}

void PendingFile::remove() {
  if (file_.has_value()) file_->remove();
}

}  // namespace wavescope
