#include "collector_cupti/launch_notes.h"

#include <sys/mman.h>

#include <algorithm>

namespace wavescope::cupti {
namespace {

constexpr uint32_t kThreadMask = (1u << 24) - 1;
constexpr int kCodeShift = 24;
constexpr uint64_t kCodeMask = 0xf;
constexpr uint64_t kCountedByRecords = 1u << 28;
constexpr uint64_t kIsSkipped = 1u << 29;  // the count is of kernels that are skipped, else of records that came
constexpr uint64_t kUsed = uint64_t{1} << 31;
constexpr int kCountShift = 32;
constexpr uint32_t kMostCounted = (1u << 20) - 1;
constexpr uint64_t kOneKernel = uint64_t{1} << kCountShift;
constexpr int kNameShift = 52;
static_assert(WAVESCOPE_SKIP_REASONS <= kCodeMask, "a reason and one has to fit");
static_assert(LaunchNotes::kPlaces == 1u << 20, "a place and the upper bits name a correlation id");

// What tells a correlation id from the others of its place.
uint64_t name_of(uint32_t correlation) { return uint64_t{correlation >> 20} << kNameShift | kUsed; }
bool is_of(uint64_t who, uint32_t correlation) {
  return (who >> kNameShift << kNameShift | (who & kUsed)) == name_of(correlation);
}

uint32_t counted_in(uint64_t who) { return static_cast<uint32_t>(who >> kCountShift) & kMostCounted; }
Skipping skipped_in(uint64_t who) { return Skipping::from_code(static_cast<uint8_t>(who >> kCodeShift & kCodeMask)); }

}  // namespace

// Pages of the table are taken when they are first written to.
LaunchNotes::LaunchNotes() {
  void* memory =
      mmap(nullptr, kPlaces * sizeof(Place), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  places_ = memory == MAP_FAILED ? nullptr : static_cast<Place*>(memory);
}

LaunchNotes::~LaunchNotes() {
  if (places_ != nullptr) munmap(places_, kPlaces * sizeof(Place));
}

void LaunchNotes::put(uint32_t correlation, LaunchNote note) {
  if (__builtin_expect(places_ == nullptr, 0)) return;
  Place& place = places_[correlation % kPlaces];
  const uint64_t who = name_of(correlation) | (note.thread & kThreadMask) | uint64_t{note.skipped.code()} << kCodeShift |
                       (note.counted_by_records ? kCountedByRecords : 0);
  place.who.store(who, std::memory_order_release);
  place.where.store(uint64_t{correlation} << 32 | note.marker, std::memory_order_release);
}

LaunchNote LaunchNotes::find(uint32_t correlation) const {
  LaunchNote note;
  if (places_ == nullptr) return note;
  const Place& place = places_[correlation % kPlaces];
  const uint64_t where = place.where.load(std::memory_order_acquire);
  const uint64_t who = place.who.load(std::memory_order_acquire);
  const auto owner = static_cast<uint32_t>(where >> 32);
  if (owner != correlation || correlation == 0 || !is_of(who, correlation)) {
    // A launch that came later may have taken the place, one that came before cannot.
    const bool is_older = static_cast<int32_t>(correlation - owner) > 0;
    note.counted_by_records = owner == 0 || correlation == 0 || is_older;
    return note;
  }
  note.thread = static_cast<uint32_t>(who) & kThreadMask;
  note.marker = static_cast<uint32_t>(where);
  note.skipped = skipped_in(who);
  note.counted_by_records = (who & kCountedByRecords) != 0;
  return note;
}

Skipping LaunchNotes::count_kernel(uint32_t correlation) {
  if (places_ == nullptr) return {};
  std::atomic<uint64_t>& place = places_[correlation % kPlaces].who;
  uint64_t who = place.load(std::memory_order_acquire);
  uint64_t changed = 0;
  do {
    if (!is_of(who, correlation)) return {};
    if ((who & kIsSkipped) != 0) {
      if (counted_in(who) == 0) return {};
      changed = who - kOneKernel;
    } else {
      changed = counted_in(who) == kMostCounted ? who : who + kOneKernel;
    }
  } while (!place.compare_exchange_weak(who, changed, std::memory_order_acq_rel));
  return (who & kIsSkipped) != 0 ? skipped_in(who) : Skipping{};
}

uint32_t LaunchNotes::skip(uint32_t correlation, Skipping skipped, uint32_t kernels) {
  if (places_ == nullptr) return 0;
  std::atomic<uint64_t>& place = places_[correlation % kPlaces].who;
  uint64_t who = place.load(std::memory_order_acquire);
  uint64_t changed = 0;
  uint32_t came = 0;
  do {
    if (!is_of(who, correlation)) return 0;
    came = std::min(counted_in(who), kernels);
    const uint64_t rest = std::min(kernels - came, kMostCounted);
    const uint64_t others = who & ~(uint64_t{kMostCounted} << kCountShift | kCodeMask << kCodeShift);
    changed = others | kIsSkipped | rest << kCountShift | uint64_t{skipped.code()} << kCodeShift;
  } while (!place.compare_exchange_weak(who, changed, std::memory_order_acq_rel));
  return came;
}

void LaunchNotes::begin_epoch() {
  epoch_.fetch_add(1, std::memory_order_relaxed);
  if (places_ != nullptr) madvise(places_, kPlaces * sizeof(Place), MADV_DONTNEED);
}

}  // namespace wavescope::cupti
