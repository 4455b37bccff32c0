// Keeps the ring below an intercepted queue from running full.
//
// The runtime puts each packet from the application's ring into a second one of the same size. When the second ring is full
// it sets a packet aside and goes on when there is room; but older runtimes lose the order of packets, or stop the
// process, when another packet follows that one at once. So the submitting thread waits before that, as it would have
// waited for room in a queue that is not intercepted; with newer runtimes, too, as it saves them and the GPU that work.
//
// Where a batch of packets comes at once it goes on in parts, as soon as there is room for each: a runtime that has to take
// a batch apart by itself fills the ring to the last place, and some then stop the process.
//
// What has left the ring is known by marks, which do not depend on what is recorded: from time to time a packet without a
// completion signal gets one of the guard's, or a barrier with one follows it that waits for nothing.
#ifndef WAVESCOPE_COLLECTOR_HSA_RING_GUARD_H
#define WAVESCOPE_COLLECTOR_HSA_RING_GUARD_H

#include <atomic>
#include <cstdint>

#include "collector_hsa/hsa_api.h"
#include "collector_hsa/hsa_tables.h"

namespace wavescope {

// What a runtime does with packets for which the ring has no room.
enum class WhenFull {
  kStops,  // it sets one call's packets aside, and fails at the next; takes one call for each packet of the application
  kSetsAside,  // it sets them aside, and lets what follows wait in the application's ring
  kStagesFew,  // the same, but of what has waited there it can take few at once (stalled_queues.h)
};

// Of the runtime of a release, 0 where it is not known.
WhenFull when_full(uint32_t release);

class RingGuard {
 public:
  using Packet = hsa_kernel_dispatch_packet_t;
  using Writer = hsa_amd_queue_intercept_packet_writer;

  RingGuard(const HsaApi& api, const hsa_queue_t* queue, WhenFull when_full);
  RingGuard(const RingGuard&) = delete;
  RingGuard& operator=(const RingGuard&) = delete;

  // The place in the application's queue behind the packets that are passed on next.
  void set_next_index(uint64_t next_index) { next_index_ = next_index; }

  // Passes packets on as soon as there is room. Called under the queue's lock.
  void pass(const Packet* packets, uint64_t count, Writer writer) { pass_up_to(next_index_, packets, count, writer); }
  // The same of packets whose place has not been said.
  void pass_up_to(uint64_t next_index, const Packet* packets, uint64_t count, Writer writer) {
    if (__builtin_expect(passed_ + count > checkpoint_, 0)) {
      set_next_index(next_index);
      return pass_checked(packets, count, writer);
    }
    passed_ += count;
    writer(packets, count);
  }

  // Gives the runtime back its signals: the queue is gone, or the runtime is about to be. Packets pass freely after this.
  void give_back_signals();

 private:
  static constexpr uint32_t kMarksInRing = 8;  // what has left the ring is known as exactly as that
  static constexpr uint32_t kMarks = 2 * kMarksInRing;

  struct Mark {
    uint64_t packets;  // passed up to the one that completes the signal
    hsa_signal_t handle;
  };

  void pass_checked(const Packet* packets, uint64_t count, Writer writer);
  bool may_set_aside(uint64_t count) const;
  bool make_room(uint64_t count, bool may_be_set_aside);
  void pass_marked(const Packet* packets, uint64_t count, Writer writer);
  bool has_room(uint64_t count) const { return passed_ - left_ + count + reserve_ <= size_; }
  bool take_oldest_mark();
  uint64_t place_of_mark(const Packet* packets, uint64_t count) const;
  void make_mark(Packet* packet, uint64_t packets_up_to_it);
  void set_checkpoint();

  const HsaApi& api_;
  const hsa_queue_t* const queue_;
  const uint64_t size_;
  const WhenFull when_full_;
  uint64_t reserve_ = 1;  // the runtime never fills the last place
  uint64_t checkpoint_ = 0;  // up to so many packets pass without a look
  uint64_t next_index_ = 0;
  uint64_t passed_ = 0;  // packets, marks of our own among them
  uint64_t left_ = 0;  // packets known to have left the ring
  uint64_t next_mark_;  // passed_ when a mark is due
  uint64_t stuck_mark_ = UINT64_MAX;  // the oldest mark when waiting was of no use
  uint64_t oldest_ = 0;  // marks are numbered in their order
  uint64_t next_ = 0;
  Mark marks_[kMarks] = {};
  uint64_t signal_count_ = 0;
  bool is_stalled_ = false;  // the runtime has set packets aside, and can take few of what follows at once
  std::atomic<bool> is_retired_{false};
};

}  // namespace wavescope

#endif
