// Dispatches in flight: each has a slot with its record and a completion signal of ours, in the order of submission.
#ifndef WAVESCOPE_COLLECTOR_HSA_SLOT_BLOCK_H
#define WAVESCOPE_COLLECTOR_HSA_SLOT_BLOCK_H

#include <atomic>
#include <cstdint>

#include "collector_hsa/hsa_abi.h"
#include "format/chunk_format.h"

namespace wavescope {

constexpr uint32_t kSlotBits = 10;
constexpr uint32_t kSlots = 1u << kSlotBits;
static_assert(kSlots == WAVESCOPE_PENDING_SLOTS, "slots");
static_assert(sizeof(amd_signal_t) == sizeof(WavescopePendingSignal), "signal");

enum class SlotKind : uint8_t {
  kOwnSignal,    // our signal is in the packet
  kForwarded,    // our signal is in the packet, a barrier behind it completes the application's
  kInPlace,      // the application's signal stayed in the packet and will carry the times; whoever sees them there first
                 // copies them to the record
  kCopy,         // the same for a copy, whose times the runtime knows; until they are known the record's start is
                 // the time of submission and its end the signal's value then
};

// Of a slot in place, kept with the generation of its block in one word: whoever moves it from pending to claimed, and then
// waits for the watch if that says that it reads the slot, has the application's signal to itself, which is certain to be
// alive as long as the slot is pending.
enum SlotState : uint64_t { kPending = 1, kClaimed = 2, kTaken = 3 };

// The signal's ticks are the dispatch's; zero while the GPU has not written them.
struct Ticks {
  uint64_t start;
  uint64_t end;
};

// Records, places and the number of published slots are in memory that outlives the process where there is such memory, and
// then so are our signals.
struct SlotBlock {
  WavescopePendingBlock* pending;
  WavescopeOpRecord* records;              // of pending; start and end come when the dispatch is complete
  amd_signal_t* own[kSlots];
  uint64_t handle[kSlots];                 // of own, as the GPU is to know it
  amd_signal_t* app[kSlots];               // in place: the signal; forwarded: only its address is used
  std::atomic<uint64_t> tag[kSlots];       // generation << 8 | SlotState, for slots in place
  std::atomic<SlotKind> kind[kSlots];
  uint8_t done[kSlots];                    // worker: times taken and written
  uint8_t overdue[kSlots];                 // worker: sweeps that found the signal complete but without times
  std::atomic<uint64_t> generation;        // differs for every use of every block
  uint32_t index;                          // in the pool
  bool keeps_signals;                      // our signals are in pending
  uint32_t first_open;                     // worker: all slots before it are done
  bool has_in_place;                       // producer: the pool knows that some slot is or was in place
  uint64_t known_use;                      // producer: of which use of which block it knows ...
  uint32_t known_taken;                    // producer: ... that all slots before this one are taken
  std::atomic<uint64_t> watched;           // by the watch: generation << 16 | all slots before this one are taken
  std::atomic<SlotBlock*> next;

  SlotKind kind_of(uint32_t slot) const { return kind[slot].load(std::memory_order_relaxed); }
  void set_kind(uint32_t slot, SlotKind its) { kind[slot].store(its, std::memory_order_relaxed); }

  // Of slots to come the watch looks at what may be there, to have it near.
  amd_signal_t* app_at(uint32_t slot) const { return __atomic_load_n(&app[slot], __ATOMIC_RELAXED); }
  void set_app(uint32_t slot, amd_signal_t* signal) { __atomic_store_n(&app[slot], signal, __ATOMIC_RELAXED); }

  // Up to where the watch has seen all slots of this use of the block taken.
  uint32_t watched_in(uint64_t use) const {
    const uint64_t seen = watched.load(std::memory_order_acquire);
    return seen >> 16 == use ? static_cast<uint32_t>(seen & 0xffff) : 0;
  }
  void set_watched(uint64_t use, uint32_t slots) { watched.store(use << 16 | slots, std::memory_order_release); }

  // Slots published by the producer.
  uint32_t head() const { return static_cast<uint32_t>(__atomic_load_n(&pending->filled, __ATOMIC_ACQUIRE)); }
  void set_head(uint32_t slots) { __atomic_store_n(&pending->filled, uint64_t{slots}, __ATOMIC_RELEASE); }

  // Where a reader finds the slot's times, as WavescopePendingBlock::places says.
  void set_place(uint32_t slot, uint64_t place) { __atomic_store_n(&pending->places[slot], place, __ATOMIC_RELEASE); }
  // Of a slot in place.
  void keep_times(uint32_t slot, Ticks ticks) {
    records[slot].start = ticks.start;
    records[slot].end = ticks.end;
    set_place(slot, WAVESCOPE_PLACE_LATER);
  }
};

inline bool is_in_place(SlotKind kind) { return kind == SlotKind::kInPlace || kind == SlotKind::kCopy; }

inline uint64_t tag_of(uint64_t generation, SlotState state) { return generation << 8 | state; }

inline int64_t value_of(const amd_signal_t* signal) { return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE); }

inline Ticks ticks_of(const amd_signal_t* signal) {
  const uint64_t end = __atomic_load_n(&signal->end_ts, __ATOMIC_ACQUIRE);
  return Ticks{__atomic_load_n(&signal->start_ts, __ATOMIC_ACQUIRE), end};
}

inline void set_ticks(amd_signal_t* signal, Ticks ticks) {
  __atomic_store_n(&signal->start_ts, ticks.start, __ATOMIC_RELAXED);
  __atomic_store_n(&signal->end_ts, ticks.end, __ATOMIC_RELEASE);
}

inline void clear_ticks(amd_signal_t* signal) { set_ticks(signal, Ticks{0, 0}); }

}  // namespace wavescope

#endif
