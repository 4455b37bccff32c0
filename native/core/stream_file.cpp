#include "core/stream_file.h"

#include <algorithm>
#include <cstring>

namespace wavescope {
namespace {

constexpr uint64_t kSmallestGrowth = 16 * StreamFile::kBlockBytes;   // 192 KiB: most processes need no more
constexpr uint64_t kLargestGrowth = 4096 * StreamFile::kBlockBytes;  // 48 MiB

uint64_t whole_blocks(uint64_t bytes) { return bytes / StreamFile::kBlockBytes * StreamFile::kBlockBytes; }

}  // namespace

std::unique_ptr<StreamFile> StreamFile::create(const std::string& path, const WavescopeStreamHeader& header,
                                               RecordSpace& space, Refusal& why_not, IsOver is_record_over) {
  std::unique_ptr<StreamFile> stream(new StreamFile(path, header.record_bytes, space, is_record_over));
  why_not = stream->grow(WAVESCOPE_PAGE_BYTES);
  if (why_not != Refusal::kNone) return nullptr;
  std::memcpy(stream->parts_.front().window.pages, &header, sizeof header);
  stream->taken_ = WAVESCOPE_PAGE_BYTES;
  return stream;
}

StreamFile::StreamFile(const std::string& path, uint32_t record_bytes, RecordSpace& space, IsOver is_record_over)
    : file_(path),
      record_bytes_(record_bytes),
      space_(space),
      is_record_over_(is_record_over),
      can_drop_(is_record_over != nullptr && space.drops_oldest() && file_.can_give_back()) {}

StreamFile::~StreamFile() {
  for (MappedPart& part : parts_) part.window.unmap();
}

bool StreamFile::refill(RecordCursor& cursor) {
  let_go_if_full(cursor);
  if (take_spare(cursor)) return true;
  const bool has_room = space_.take(kBlockBytes);
  const std::lock_guard<std::mutex> lock(mutex_);
  Refusal refusal = has_room ? take_block(cursor) : Refusal::kSizeLimit;
  if (refusal == Refusal::kNone) return true;
  if (was_cut()) refusal = Refusal::kUnreachable;
  if (has_room) space_.give_back(kBlockBytes);
  cursor = RecordCursor{nullptr, nullptr};
  lost_[static_cast<int>(refusal)].fetch_add(1, std::memory_order_relaxed);
  return false;
}

bool StreamFile::take_spare(RecordCursor& cursor) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (spare_.empty() || was_cut()) return false;
  cursor = spare_.back();
  spare_.pop_back();
  return true;
}

Refusal StreamFile::take_block(RecordCursor& cursor) {
  if (was_cut()) return Refusal::kUnreachable;
  if (taken_ == parts_.back().window.end) {
    const Refusal refusal = grow(kBlockBytes);
    if (refusal != Refusal::kNone) return refusal;
  }
  const FileWindow& window = parts_.back().window;
  char* block = window.pages + (taken_ - window.begin);
  cursor = RecordCursor{block, block + kBlockBytes};
  taken_ += kBlockBytes;
  return Refusal::kNone;
}

Refusal StreamFile::grow(uint64_t least_bytes) {
  const uint64_t begin = parts_.empty() ? 0 : parts_.back().window.end;
  const uint64_t usual = std::min(std::max(whole_blocks(begin / 4), kSmallestGrowth), kLargestGrowth);
  const uint64_t growth = whole_blocks(space_.budget().step(usual, kBlockBytes));
  const uint64_t header_bytes = begin == 0 ? uint64_t{WAVESCOPE_PAGE_BYTES} : 0;
  FileWindow window;
  Refusal refusal = Refusal::kNone;
  for (const uint64_t wanted : {header_bytes + growth, least_bytes}) {
    refusal = file_.map(begin, begin + wanted, window);
    if (!is_for_want_of_room(refusal)) break;
  }
  if (refusal == Refusal::kNone) parts_.push_back(MappedPart{window, 0});
  return refusal;
}

bool StreamFile::was_cut() const {
  return std::any_of(parts_.begin(), parts_.end(), [](const MappedPart& part) { return part.window.was_cut(); });
}

void StreamFile::give_back(RecordCursor& cursor) {
  let_go_if_full(cursor);
  if (cursor.next == cursor.end) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  spare_.push_back(cursor);
  cursor = RecordCursor{nullptr, nullptr};
}

void StreamFile::let_go_if_full(RecordCursor& cursor) {
  if (!can_drop_ || cursor.end == nullptr || cursor.next != cursor.end) return;
  uint64_t end = 0;
  {
    const std::lock_guard<std::mutex> lock(mutex_);
    for (const auto& [window, dropped_bytes] : parts_) {
      const bool is_inside = cursor.end > window.pages && cursor.end <= window.pages + (window.end - window.begin);
      if (is_inside) end = window.begin + static_cast<uint64_t>(cursor.end - window.pages);
    }
  }
  cursor = RecordCursor{nullptr, nullptr};
  space_.add_filled(*this, FilePart{end - kBlockBytes, end});
}

StreamFile::MappedPart& StreamFile::part_at(uint64_t offset) {
  const auto is_before = [](uint64_t wanted, const MappedPart& part) { return wanted < part.window.begin; };
  return *(std::upper_bound(parts_.begin(), parts_.end(), offset, is_before) - 1);
}

bool StreamFile::is_over(const FilePart& block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  const FileWindow& window = part_at(block.begin).window;
  const char* records = window.pages + (block.begin - window.begin);
  uint64_t over = 0;
  uint64_t empty = 0;
  for (uint64_t at = 0; at < kBlockBytes; at += record_bytes_) {
    if (__atomic_load_n(records + at, __ATOMIC_ACQUIRE) == 0) ++empty;  // it is not published yet
    else if (is_record_over_(records + at)) ++over;
  }
  const uint64_t all = kBlockBytes / record_bytes_;
  return over == all || empty == all;  // who keeps the newest seconds took them out of the file
}

void StreamFile::drop(const std::vector<FilePart>& parts) {
  const std::lock_guard<std::mutex> lock(mutex_);
  auto* dropped = reinterpret_cast<WavescopeDropped*>(parts_.front().window.pages + sizeof(WavescopeStreamHeader));
  uint64_t records = dropped->records;
  for (const FilePart& part : parts) records += count_records(part);
  __atomic_store_n(&dropped->records, records, __ATOMIC_RELEASE);
  file_.give_back(parts.data(), parts.size());
  for (const FilePart& part : parts) forget_pages(part);
}

// Others may have taken records out of the file.
uint64_t StreamFile::count_records(const FilePart& part) {
  uint64_t count = 0;
  for (uint64_t block = part.begin; block < part.end; block += kBlockBytes) {
    const FileWindow& window = part_at(block).window;
    const char* records = window.pages + (block - window.begin);
    for (uint64_t at = 0; at < kBlockBytes; at += record_bytes_) count += records[at] != 0 ? 1 : 0;
  }
  return count;
}

// The first window has the header, and in the last one more blocks will be taken.
void StreamFile::forget_pages(FilePart part) {
  for (; part.begin < part.end; part.begin += kBlockBytes) part_at(part.begin).dropped_bytes += kBlockBytes;
  const auto is_spent = [](MappedPart& each) { return each.dropped_bytes == each.window.end - each.window.begin; };
  const auto spent =
      std::stable_partition(parts_.begin(), parts_.end() - 1, [&](MappedPart& each) { return !is_spent(each); });
  for (auto each = spent; each != parts_.end() - 1; ++each) each->window.unmap();
  parts_.erase(spent, parts_.end() - 1);
}

}  // namespace wavescope
