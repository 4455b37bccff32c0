#include "core/append_log.h"

#include <algorithm>
#include <cstring>

#include "format/chunk_format.h"

namespace wavescope {
namespace {

constexpr uint64_t kSmallestStep = uint64_t{64} << 10;
constexpr uint64_t kLargestStep = uint64_t{8} << 20;

uint64_t page_of(uint64_t offset) { return offset / WAVESCOPE_PAGE_BYTES * WAVESCOPE_PAGE_BYTES; }
uint64_t page_end(uint64_t offset) { return page_of(offset + WAVESCOPE_PAGE_BYTES - 1); }

void store_unit(char* target, const char* unit, std::size_t bytes) {
  uint64_t head = 0;
  if (bytes >= sizeof head && reinterpret_cast<uintptr_t>(target) % sizeof head == 0) {
    std::memcpy(&head, unit, sizeof head);
    std::memcpy(target + sizeof head, unit + sizeof head, bytes - sizeof head);
    __atomic_store_n(reinterpret_cast<uint64_t*>(target), head, __ATOMIC_RELEASE);
    return;
  }
  std::memcpy(target + 1, unit + 1, bytes - 1);
  __atomic_store_n(target, *unit, __ATOMIC_RELEASE);
}

}  // namespace

AppendLog::AppendLog(const std::string& path, ByteBudget& budget, WhenCut when_cut, ByteBudget::Lasting what)
    : file_(path), when_cut_(when_cut), what_(what), budget_(budget) {}

AppendLog::~AppendLog() { window_.unmap(); }

bool AppendLog::append(const void* bytes, std::size_t count) {
  const ByteBudget::Lasting what = what_.load(std::memory_order_relaxed);
  refusal_ = budget_.take_lasting(count, what) ? Refusal::kNone : Refusal::kSizeLimit;
  if (refusal_ != Refusal::kNone) return false;
  for (int attempt = 0; attempt < 2; ++attempt) {  // it may be cut while it is written to
    refusal_ = make_room(count);
    if (refusal_ != Refusal::kNone) break;
    store_unit(window_.pages + (length_ - window_.begin), static_cast<const char*>(bytes), count);
    if (window_.was_cut()) continue;
    length_ += count;
    return true;
  }
  budget_.give_back_lasting(count, what);
  if (refusal_ == Refusal::kNone) refusal_ = Refusal::kUnreachable;
  return false;
}

// Moves the window if need be. The new one is there before the old one goes: by a mapped file others tell who lives.
Refusal AppendLog::make_room(std::size_t count) {
  const uint64_t end = length_ + count;
  const bool is_cut = window_.was_cut();
  if (!is_cut && end <= room_end_) return Refusal::kNone;
  if (is_cut && when_cut_ == WhenCut::kEnds) return Refusal::kUnreachable;
  if (is_cut) file_.accept_cut();
  const uint64_t begin = page_of(length_);
  const uint64_t usual = std::min(std::max(page_of(length_), kSmallestStep), kLargestStep);
  const uint64_t step = page_of(budget_.step(usual, kSmallestStep));
  FileWindow next;
  Refusal refusal = Refusal::kNone;
  for (const uint64_t wanted : {page_end(end) + step, page_end(end)}) {
    refusal = file_.map(begin, wanted, next);
    if (!is_for_want_of_room(refusal)) break;
  }
  if (refusal != Refusal::kNone) return refusal;
  window_.unmap();
  window_ = next;
  room_end_ = next.end;
  return Refusal::kNone;
}

void AppendLog::trim() {
  if (window_.was_cut() || room_end_ <= length_ || !file_.truncate(length_)) return;
  room_end_ = length_;  // what follows needs a new window
}

}  // namespace wavescope
