// Keeps the ring below an intercepted queue from running full.
//
// The runtime puts each packet from the application's ring into a second one of the same size. Older runtimes lose the
// order of packets or stop the process when the second ring is full while more than one packet is on its way. So the
// submitting thread waits before that, as it would have waited for room in a queue that is not intercepted. A kernel may
// wait long for other machines; only a GPU that does nothing for minutes is given up, to the runtime's own devices.
#ifndef WAVESCOPE_COLLECTOR_HSA_RING_GUARD_H
#define WAVESCOPE_COLLECTOR_HSA_RING_GUARD_H

#include <cstdint>

#include "collector_hsa/app_signals.h"
#include "collector_hsa/slot_block.h"

namespace wavescope {

class RingGuard {
 public:
  RingGuard(uint32_t size, AppSignals& signals) : signals_(signals), size_(size), next_mark_(size / kMarksInRing) {}

  // Before `count` packets go into the ring.
  void before(uint64_t count) {
    packets_ += count;
    if (__builtin_expect(packets_ - passed_ + kReserve > size_, 0)) wait();
  }

  // After a dispatch got its slot: from time to time it is remembered, so that its completion tells what has left.
  void dispatched(SlotBlock* block, uint32_t slot) {
    if (__builtin_expect(packets_ >= next_mark_, 0)) mark(block, slot);
  }

 private:
  static constexpr uint32_t kMarksInRing = 64;  // what has left the ring is known as exactly as that
  static constexpr uint32_t kMarks = 2 * kMarksInRing;
  static constexpr uint32_t kReserve = 4;

  struct Mark {
    uint64_t packet;
    uint64_t generation;
    SlotBlock* block;
    uint32_t slot;
  };

  void mark(SlotBlock* block, uint32_t slot);
  void wait();
  bool complete(const Mark& mark);

  AppSignals& signals_;
  const uint32_t size_;
  uint64_t packets_ = 0;
  uint64_t passed_ = 0;  // packets known to have left the ring
  uint64_t next_mark_;
  uint64_t gave_up_at_ = 0;  // packets_ when the GPU made no progress
  Mark marks_[kMarks] = {};
  uint32_t oldest_ = 0;
  uint32_t count_ = 0;
};

}  // namespace wavescope

#endif
