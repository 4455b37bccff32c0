#include "collector_hsa/signal_watch.h"

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
  if (block->watched_generation != generation) {
    block->watched_generation = generation;
    block->watched = 0;
  }
  const uint32_t head = block->head();
  uint32_t open = 0;
  for (uint32_t slot = block->watched; slot < head && open < kMostOpen; ++slot) {
    __builtin_prefetch(block->app_at((slot + kWatchedAhead) % kSlots), 0);
    __builtin_prefetch(&block->records[(slot + kWatchedAhead) % kSlots], 1);
    const bool is_open = is_in_place(block->kind_of(slot)) &&
                         signals_.take_times(block, slot, generation, WaitPolicy::kTry) == Completion::kOpen;
    if (is_open) ++open;
    else if (open == 0) block->watched = slot + 1;
  }
  return open != 0;
}

}  // namespace wavescope
