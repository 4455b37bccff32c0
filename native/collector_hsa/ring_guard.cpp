#include "collector_hsa/ring_guard.h"

#include <immintrin.h>
#include <unistd.h>

#include "core/clock.h"

namespace wavescope {
namespace {

constexpr uint32_t kSpins = 1000;
constexpr uint64_t kPatienceNs = 600000000000;
constexpr useconds_t kShortSleepUs = 5;
constexpr useconds_t kLongSleepUs = 50;  // most of a large ring is still full then: the GPU does not run dry
constexpr uint64_t kLongKernelNs = 100000000;
constexpr useconds_t kLongKernelSleepUs = 1000;

}  // namespace

void RingGuard::mark(SlotBlock* block, uint32_t slot) {
  if (count_ == kMarks) return;
  marks_[(oldest_ + count_++) % kMarks] = Mark{packets_, block->generation, block, slot};
  next_mark_ = packets_ + size_ / kMarksInRing;
}

bool RingGuard::complete(const Mark& mark) {
  SlotBlock* block = mark.block;
  if (block->generation != mark.generation) return true;
  if (is_in_place(block->kind_of(mark.slot))) {
    return signals_.harvest(block, mark.slot, mark.generation, Effort::kGlance) != Harvest::kOpen;
  }
  // The worker makes the value 1 again after it took the times, and counts the slot as done.
  return value_of(block->own[mark.slot]) <= 0 || __atomic_load_n(&block->first_open, __ATOMIC_RELAXED) > mark.slot ||
         __atomic_load_n(&block->done[mark.slot], __ATOMIC_RELAXED) != 0;
}

void RingGuard::wait() {
  if (packets_ - gave_up_at_ < size_ && gave_up_at_ != 0) return;
  uint32_t spins = 0;
  uint64_t since_ns = 0;
  while (packets_ - passed_ + kReserve > size_ && count_ != 0) {
    const Mark& oldest = marks_[oldest_ % kMarks];
    if (complete(oldest)) {
      passed_ = oldest.packet;
      ++oldest_;
      --count_;
      spins = 0;
      since_ns = 0;
      continue;
    }
    if (++spins < kSpins) {
      _mm_pause();
      continue;
    }
    const uint64_t now_ns = boottime_ns();
    if (since_ns == 0) since_ns = now_ns;
    if (now_ns - since_ns > kPatienceNs) {
      gave_up_at_ = packets_;
      return;
    }
    if (now_ns - since_ns > kLongKernelNs) usleep(kLongKernelSleepUs);
    else usleep(size_ > 1024 ? kLongSleepUs : kShortSleepUs);
  }
}

}  // namespace wavescope
