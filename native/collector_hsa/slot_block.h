// Dispatches in flight: each has a slot with its record and a completion signal of ours, in the order of submission.
#ifndef WAVESCOPE_COLLECTOR_HSA_SLOT_BLOCK_H
#define WAVESCOPE_COLLECTOR_HSA_SLOT_BLOCK_H

#include <hsa/amd_hsa_signal.h>

#include <atomic>
#include <cstdint>

#include "format/chunk_format.h"

namespace wavescope {

constexpr uint32_t kSlotBits = 10;
constexpr uint32_t kSlots = 1u << kSlotBits;

enum class SlotKind : uint8_t {
  kOwnSignal,    // our signal is in the packet
  kForwarded,    // our signal is in the packet, a barrier behind it completes the application's
  kInPlace,      // the application's signal stayed in the packet and will carry the times
  kCopy,         // the same for a copy, whose times the runtime knows; until they are known the record's start is
                 // the time of submission and its end the signal's value then
};

// Of a slot in place, kept with the generation of its block in one word: whoever moves it from pending to claimed reads
// the application's signal, which is certain to be alive as long as the slot is pending.
enum SlotState : uint64_t { kPending = 1, kClaimed = 2, kTaken = 3 };

struct SlotBlock {
  alignas(64) WavescopeOpRecord records[kSlots];  // without kind, start and end; these come when the dispatch is complete
  amd_signal_t* own[kSlots];
  amd_signal_t* app[kSlots];               // in place: the signal; forwarded: only its address is used
  std::atomic<uint64_t> tag[kSlots];       // generation << 8 | SlotState, for slots in place
  SlotKind kind[kSlots];
  uint8_t done[kSlots];                    // worker: harvested and written
  uint8_t overdue[kSlots];                 // worker: sweeps that found the signal complete but without times
  std::atomic<uint64_t> generation;        // differs for every use of every block
  uint32_t index;                          // in the pool
  std::atomic<uint32_t> head;              // slots published by the producer
  uint32_t first_open;                     // worker: all slots before it are done
  std::atomic<SlotBlock*> next;
};

inline bool is_in_place(SlotKind kind) { return kind == SlotKind::kInPlace || kind == SlotKind::kCopy; }

inline uint64_t tag_of(uint64_t generation, SlotState state) { return generation << 8 | state; }

// The signal's ticks are the dispatch's; zero while the GPU has not written them.
struct Ticks {
  uint64_t start;
  uint64_t end;
};

inline int64_t value_of(const amd_signal_t* signal) { return __atomic_load_n(&signal->value, __ATOMIC_ACQUIRE); }

inline Ticks ticks_of(const amd_signal_t* signal) {
  const uint64_t end = __atomic_load_n(&signal->end_ts, __ATOMIC_ACQUIRE);
  return Ticks{__atomic_load_n(&signal->start_ts, __ATOMIC_ACQUIRE), end};
}

inline void clear_ticks(amd_signal_t* signal) {
  __atomic_store_n(&signal->start_ts, uint64_t{0}, __ATOMIC_RELAXED);
  __atomic_store_n(&signal->end_ts, uint64_t{0}, __ATOMIC_RELEASE);
}

}  // namespace wavescope

#endif
