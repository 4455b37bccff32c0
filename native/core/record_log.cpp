#include "core/record_log.h"

#include <algorithm>

namespace wavescope {
namespace {

constexpr uint64_t kLargeFile = uint64_t{1} << 20;
constexpr uint64_t kStep = uint64_t{8} << 20;
constexpr uint64_t kSegmentBytes = 5 * WAVESCOPE_PAGE_BYTES;  // a multiple of every size of op records
constexpr uint64_t kReadBytes = 16 * kSegmentBytes;
static_assert(kSegmentBytes % sizeof(WavescopeOpRecord) == 0 && kSegmentBytes % sizeof(WavescopeGraphOpRecord) == 0,
              "a segment has whole records");

}  // namespace

RecordLog::RecordLog(const std::string& path, uint32_t record_bytes, RecordSpace& space)
    : file_(path),
      record_bytes_(record_bytes),
      space_(space),
      can_drop_(space.drops_oldest() && file_.can_give_back()),
      dropped_(record_bytes) {}

bool RecordLog::append(const iovec* pieces, int piece_count) {
  std::size_t count = 0;
  for (int at = 0; at < piece_count; ++at) count += pieces[at].iov_len;
  refusal_ = space_.take(count) ? Refusal::kNone : Refusal::kSizeLimit;
  if (refusal_ != Refusal::kNone) return false;
  refusal_ = write(pieces, piece_count, count);
  if (refusal_ != Refusal::kNone) {
    space_.give_back(count);
    return false;
  }
  if (can_drop_) add_filled_segments();
  return true;
}

Refusal RecordLog::write(const iovec* pieces, int piece_count, std::size_t count) {
  const std::lock_guard<std::mutex> lock(file_mutex_);
  const uint64_t space = space_wanted(length_ + count);
  const Refusal refusal = file_.write(length_, pieces, piece_count, count, allocated_, space);
  if (refusal != Refusal::kNone) return refusal;
  allocated_ = space;
  length_ += count;
  return Refusal::kNone;
}

void RecordLog::add_filled_segments() {
  for (; filled_end_ + kSegmentBytes <= length_; filled_end_ += kSegmentBytes) {
    space_.add_filled(*this, FilePart{filled_end_, filled_end_ + kSegmentBytes});
  }
}

// What is dropped is counted in the file before it goes: a process may be killed in between.
void RecordLog::drop(const std::vector<FilePart>& parts) {
  const std::lock_guard<std::mutex> lock(file_mutex_);
  std::vector<char> records(kReadBytes);
  for (const FilePart& part : parts) {
    for (uint64_t at = part.begin; at < part.end; at += kReadBytes) {
      const uint64_t bytes = std::min(kReadBytes, part.end - at);
      if (file_.read(at, records.data(), bytes)) dropped_.count(records.data(), bytes);
    }
  }
  dropped_.set_first_kept((parts.back().end - WAVESCOPE_PAGE_BYTES) / record_bytes_);
  file_.replace(sizeof(WavescopeStreamHeader), &dropped_.table(), sizeof(WavescopeDropped));
  file_.give_back(parts.data(), parts.size());
}

// Files that become large get their space in large steps, which makes writing them a third cheaper.
uint64_t RecordLog::space_wanted(uint64_t end) const {
  if (end < kLargeFile || end <= allocated_) return std::max(end, allocated_);
  return end + space_.budget().step(kStep, 0);
}

void RecordLog::trim() {
  const std::lock_guard<std::mutex> lock(file_mutex_);
  if (allocated_ > length_ && file_.truncate(length_)) allocated_ = length_;
}

}  // namespace wavescope
