#include "core/stream_file.h"

#include <algorithm>
#include <cstring>

namespace wavescope {
namespace {

constexpr uint64_t kSmallestGrowth = 16 * StreamFile::kBlockBytes;   // 192 KiB: most processes need no more
constexpr uint64_t kLargestGrowth = 4096 * StreamFile::kBlockBytes;  // 48 MiB

}  // namespace

std::unique_ptr<StreamFile> StreamFile::create(const std::string& path, const WavescopeStreamHeader& header,
                                               ByteBudget& budget, Refusal& why_not) {
  std::unique_ptr<StreamFile> stream(new StreamFile(path, header.record_bytes, budget));
  why_not = stream->grow(WAVESCOPE_PAGE_BYTES);
  if (why_not != Refusal::kNone) return nullptr;
  std::memcpy(stream->windows_.front().pages, &header, sizeof header);
  stream->taken_ = WAVESCOPE_PAGE_BYTES;
  return stream;
}

StreamFile::StreamFile(const std::string& path, uint32_t record_bytes, ByteBudget& budget)
    : file_(path), record_bytes_(record_bytes), budget_(budget) {}

StreamFile::~StreamFile() {
  for (FileWindow& window : windows_) window.unmap();
}

bool StreamFile::refill(RecordCursor& cursor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const Refusal refusal = take_block(cursor);
  if (refusal == Refusal::kNone) return true;
  cursor = RecordCursor{nullptr, nullptr};
  lost_[static_cast<int>(refusal)].fetch_add(1, std::memory_order_relaxed);
  return false;
}

Refusal StreamFile::take_block(RecordCursor& cursor) {
  if (was_cut()) return Refusal::kUnreachable;
  if (!spare_.empty()) {
    cursor = spare_.back();
    spare_.pop_back();
    return Refusal::kNone;
  }
  if (!budget_.take(kBlockBytes)) return Refusal::kSizeLimit;
  if (taken_ == windows_.back().end) {
    const Refusal refusal = grow(kBlockBytes);
    if (refusal != Refusal::kNone) {
      budget_.give_back(kBlockBytes);
      return refusal;
    }
  }
  char* block = windows_.back().pages + (taken_ - windows_.back().begin);
  cursor = RecordCursor{block, block + kBlockBytes};
  taken_ += kBlockBytes;
  return Refusal::kNone;
}

Refusal StreamFile::grow(uint64_t least_bytes) {
  const uint64_t begin = windows_.empty() ? 0 : windows_.back().end;
  const uint64_t quarter = begin / 4 / kBlockBytes * kBlockBytes;
  const uint64_t growth = std::min(std::max(quarter, kSmallestGrowth), kLargestGrowth);
  const uint64_t header_bytes = begin == 0 ? uint64_t{WAVESCOPE_PAGE_BYTES} : 0;
  FileWindow window;
  Refusal refusal = Refusal::kNone;
  for (const uint64_t wanted : {header_bytes + growth, least_bytes}) {
    refusal = file_.map(begin, begin + wanted, window);
    if (refusal != Refusal::kNoSpace) break;
  }
  if (refusal == Refusal::kNone) windows_.push_back(window);
  return refusal;
}

bool StreamFile::was_cut() const {
  return std::any_of(windows_.begin(), windows_.end(), [](const FileWindow& window) { return window.was_cut(); });
}

void StreamFile::give_back(RecordCursor& cursor) {
  if (cursor.next == cursor.end) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  spare_.push_back(cursor);
  cursor = RecordCursor{nullptr, nullptr};
}

}  // namespace wavescope
