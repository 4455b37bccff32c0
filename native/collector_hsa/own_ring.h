// A ring of packets in front of a queue's own: interception without the runtime's part in it.
//
// The queue is the runtime's, whole: indices, doorbell and everything that its functions do with it. Only the address at
// which programs find its ring leads to a ring of ours, of the same size. What the application puts there is copied to the
// same place of the ring that the GPU reads when the application rings the doorbell. No packet can be added on the way, and
// the queue cannot run over, as its indices are those that the application sees.
//
// A packet that was copied keeps its content and its type until the application uses the place again, because the runtime
// reads it there when the GPU asks for more scratch memory. A bit of the header that HSA reserves says that it is taken.
//
// Not made for: a program that rings the doorbell by itself, past the runtime's functions (its packets are found and passed
// on by the worker, late), and debuggers, which compare the ring's address with the driver's.
#ifndef WAVESCOPE_COLLECTOR_HSA_OWN_RING_H
#define WAVESCOPE_COLLECTOR_HSA_OWN_RING_H

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collector_hsa/hsa_api.h"
#include "collector_hsa/hsa_tables.h"
#include "core/spin_lock.h"

namespace wavescope {

class OwnRing {
 public:
  using Packet = hsa_kernel_dispatch_packet_t;

  // Memory for a ring like the queue's, before which it stands after `stand_before_queue`.
  OwnRing(const HsaApi& api, hsa_queue_t* queue);
  ~OwnRing();
  OwnRing(const OwnRing&) = delete;
  OwnRing& operator=(const OwnRing&) = delete;

  // False where there is no memory, or the queue is none that can be led like this.
  bool stand_before_queue();
  // Before the queue is destroyed, or its runtime is gone: the application's packets go to the GPU's ring again.
  void step_aside();

  SpinLock& lock() { return lock_; }

  // All below with the lock held.

  bool stands() const { return ring_ != nullptr; }

  // The application has rung for all packets before this index. Threads that share a queue may ring in any order.
  void announce(uint64_t end) { announced_ = std::max(announced_, end); }

  // The packet that is to be passed on next; null until the application has made it valid and rung for it.
  const Packet* next_announced() const {
    const Packet* packet = &ring_[next_ & mask_];
    return next_ < announced_ && is_valid(__atomic_load_n(&packet->header, __ATOMIC_ACQUIRE)) ? packet : nullptr;
  }

  // Puts a packet, which is that one or stands for it, where the GPU reads it. As soon as it is there its place is the
  // application's again, so that is marked before.
  void put(const Packet& packet, hsa_signal_t completion) {
    uint32_t first_word;
    std::memcpy(&first_word, &packet, sizeof first_word);
    Packet& taken = ring_[next_ & mask_];
    __atomic_store_n(&taken.header, static_cast<uint16_t>(taken.header | kTaken), __ATOMIC_RELAXED);
    Packet& place = below_[next_ & mask_];
    constexpr std::size_t kBegin = sizeof first_word;
    std::memcpy(reinterpret_cast<char*>(&place) + kBegin, reinterpret_cast<const char*>(&packet) + kBegin,
                offsetof(Packet, completion_signal) - kBegin);
    place.completion_signal = completion;
    __atomic_store_n(reinterpret_cast<uint32_t*>(&place), first_word, __ATOMIC_RELEASE);
    ++next_;
  }

  // Tells the GPU of all packets that were put.
  void ring_doorbell() {
    if (next_ == rung_) return;
    rung_ = next_;
    api_.signal_store(queue_->doorbell_signal, static_cast<hsa_signal_value_t>(next_ - 1));
  }

  // For a thread that looks now and then: whether packets have been valid since its last look and nobody passed them on;
  // they count as announced then. A place that the application has reserved, and may want to see empty before it fills it,
  // is emptied.
  bool announce_what_was_left();

 private:
  static constexpr uint16_t kTaken = 1u << 15;  // of the bits that HSA reserves
  static bool is_valid(uint16_t header) { return (header & 0xff) != HSA_PACKET_TYPE_INVALID && (header & kTaken) == 0; }
  void empty_reserved_places(uint64_t write_index);

  const HsaApi& api_;
  hsa_queue_t* const queue_;
  SpinLock lock_;
  Packet* ring_;
  Packet* const below_;  // the ring that the GPU reads
  const uint64_t mask_;
  uint64_t next_ = 0;  // index of the packet that is next
  uint64_t rung_ = 0;  // the GPU knows of all before it
  uint64_t announced_ = 0;
  uint64_t looked_at_ = UINT64_MAX;
};

}  // namespace wavescope

#endif
