#include "collector_hsa/signal_watch.h"

#include <algorithm>

namespace wavescope {
namespace {

// Dispatches of a queue end in their order or nearly so: behind so many that are open there is nothing to be found.
constexpr uint32_t kMostOpen = 64;
constexpr uint32_t kWatchedAhead = 32;

}  // namespace

void SignalWatch::begin(const SlotBlock* block) {
  if (block == nullptr || !block->keeps_signals) return;
  worker_.start();
  worker_.wake();
}

Worker::Activity SignalWatch::look(void* watch) {
  auto* self = static_cast<SignalWatch*>(watch);
  bool open = false;
  self->pool_.each_in_place([&](SlotBlock* block) { open = self->look_at(block) || open; });
  return open ? Worker::Activity::kBusy : Worker::Activity::kIdle;
}

// Whether slots in place are open. The block may be in other use at any moment, which taking notices.
bool SignalWatch::look_at(SlotBlock* block) {
  const uint64_t generation = block->generation.load(std::memory_order_acquire);
  const uint32_t head = block->head();
  uint32_t watched = block->watched_in(generation);
  uint32_t open = 0;
  for (uint32_t slot = watched; slot < head && open < kMostOpen;) {
    const Neighbours together = neighbours_at(block, slot, head);
    const uint32_t are_open = take(block, together, generation);
    if (open == 0) watched = slot + (are_open == 0 ? together.count : static_cast<uint32_t>(__builtin_ctz(are_open)));
    open += static_cast<uint32_t>(__builtin_popcount(are_open));
    slot += together.count;
  }
  block->set_watched(generation, watched);
  return open != 0;
}

// As many slots of one kind as are taken together.
SignalWatch::Neighbours SignalWatch::neighbours_at(const SlotBlock* block, uint32_t first, uint32_t head) {
  const uint32_t end = std::min(head, first + AppSignals::kTogether);
  const SlotKind kind = block->kind_of(first);
  uint32_t slot = first;
  do {
    __builtin_prefetch(block->app_at((slot + kWatchedAhead) % kSlots), 0);
    __builtin_prefetch(&block->records[(slot + kWatchedAhead) % kSlots], 1);
  } while (++slot < end && block->kind_of(slot) == kind);
  return {first, slot - first, kind};
}

// A bit for each that is open.
uint32_t SignalWatch::take(SlotBlock* block, Neighbours slots, uint64_t generation) {
  if (slots.kind == SlotKind::kInPlace) return signals_.take_times_together(block, slots.first, slots.count, generation);
  if (slots.kind != SlotKind::kCopy) return 0;
  uint32_t open = 0;
  for (uint32_t at = 0; at < slots.count; ++at) {
    const Completion found = signals_.take_times(block, slots.first + at, generation, WaitPolicy::kTry);
    open |= uint32_t{found == Completion::kOpen} << at;
  }
  return open;
}

}  // namespace wavescope
