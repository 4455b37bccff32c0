#include "collector_hsa/app_signals.h"

#include <immintrin.h>

namespace wavescope {
namespace {

constexpr uint64_t kForwardedBit = uint64_t{1} << 26;
constexpr uint32_t kBlockMask = 0xffff;

uint64_t owner_of(const SlotBlock* block, uint32_t slot, bool forwarded) {
  return block->generation << 27 | (forwarded ? kForwardedBit : 0) | uint64_t{block->index} << kSlotBits | slot;
}
uint32_t block_of(uint64_t owner) { return static_cast<uint32_t>(owner >> kSlotBits) & kBlockMask; }
uint32_t slot_of(uint64_t owner) { return static_cast<uint32_t>(owner) & (kSlots - 1); }
uint64_t generation_of(uint64_t owner) { return owner >> 27; }

}  // namespace

AppSignals::AppSignals(SlotPool& pool) : pool_(pool), table_(new Entry[std::size_t{1} << kTableBits]) {}

AppSignals::Entry* AppSignals::find(uint64_t signal, bool insert) const {
  uint64_t place = (signal >> 6) * 0x9E3779B97F4A7C15u >> (64 - kTableBits);
  for (uint32_t probe = 0; probe < kProbes; ++probe, place = (place + 1) & ((1u << kTableBits) - 1)) {
    Entry& entry = table_[place];
    uint64_t known = entry.signal.load(std::memory_order_acquire);
    if (known == signal) return &entry;
    if (known != 0) continue;
    if (!insert) return nullptr;
    if (entry.signal.compare_exchange_strong(known, signal) || known == signal) return &entry;
  }
  return nullptr;
}

bool AppSignals::take_in_place(amd_signal_t* signal, SlotBlock* block, uint32_t slot) {
  if (value_of(signal) != 1) return false;
  Entry* entry = find(reinterpret_cast<uint64_t>(signal), true);
  if (entry == nullptr) return false;
  const uint64_t owner = entry->owner.load(std::memory_order_acquire);
  if (owner != 0 && (owner & kForwardedBit) == 0) {
    SlotBlock* other = pool_.at(block_of(owner));
    if (other != nullptr && harvest(other, slot_of(owner), generation_of(owner), false) == Harvest::kOpen) return false;
  }
  clear_ticks(signal);
  block->app[slot] = signal;
  block->tag[slot].store(tag_of(block->generation, kPending), std::memory_order_release);
  entry->owner.store(owner_of(block, slot, false), std::memory_order_release);
  return true;
}

bool AppSignals::forward(amd_signal_t* signal, SlotBlock* block, uint32_t slot) {
  Entry* entry = find(reinterpret_cast<uint64_t>(signal), true);
  if (entry == nullptr) return false;
  const uint64_t owner = entry->owner.load(std::memory_order_acquire);
  if (owner != 0 && (owner & kForwardedBit) == 0) {
    SlotBlock* other = pool_.at(block_of(owner));
    if (other != nullptr) harvest(other, slot_of(owner), generation_of(owner), false);
  }
  block->app[slot] = signal;
  entry->owner.store(owner_of(block, slot, true), std::memory_order_release);
  return true;
}

void AppSignals::settle(hsa_signal_t signal, bool destroyed) {
  Entry* entry = signal.handle == 0 ? nullptr : find(signal.handle, false);
  if (entry == nullptr) return;
  const uint64_t owner = entry->owner.load(std::memory_order_acquire);
  if (owner == 0) return;
  if ((owner & kForwardedBit) != 0) {
    entry->owner.store(0, std::memory_order_release);
    return;
  }
  SlotBlock* block = pool_.at(block_of(owner));
  if (block != nullptr) harvest(block, slot_of(owner), generation_of(owner), destroyed);
  if (destroyed) entry->owner.store(0, std::memory_order_release);
}

Harvest AppSignals::harvest(SlotBlock* block, uint32_t slot, uint64_t generation, bool give_up) {
  std::atomic<uint64_t>& tag = block->tag[slot];
  uint64_t expected = tag_of(generation, kPending);
  while (!tag.compare_exchange_weak(expected, tag_of(generation, kClaimed), std::memory_order_acquire)) {
    if (expected == tag_of(generation, kPending)) continue;
    // Taken, or the block is in other use, which means the same; a claim of another thread lasts a few instructions.
    if (expected != tag_of(generation, kClaimed)) return Harvest::kDone;
    _mm_pause();
    expected = tag_of(generation, kPending);
  }
  const Ticks ticks = ticks_of(block->app[slot]);
  const bool complete = ticks.start != 0 && ticks.end != 0;
  if (!complete && !give_up) {
    tag.store(tag_of(generation, kPending), std::memory_order_release);
    return Harvest::kOpen;
  }
  WavescopeOpRecord& record = block->records[slot];
  record.start = complete ? ticks.start : 0;
  record.end = complete ? ticks.end : 0;
  tag.store(tag_of(generation, kTaken), std::memory_order_release);
  return complete ? Harvest::kDone : Harvest::kTimesLost;
}

void AppSignals::remember(const SlotBlock* block, uint32_t slot, Ticks ticks) {
  Entry* entry = find(reinterpret_cast<uint64_t>(block->app[slot]), false);
  if (entry == nullptr || entry->owner.load(std::memory_order_acquire) != owner_of(block, slot, true)) return;
  entry->start.store(ticks.start, std::memory_order_relaxed);
  entry->end.store(ticks.end, std::memory_order_release);
}

bool AppSignals::forwarded_ticks(hsa_signal_t signal, Ticks& ticks) const {
  const Entry* entry = find(signal.handle, false);
  const uint64_t owner = entry == nullptr ? 0 : entry->owner.load(std::memory_order_acquire);
  const SlotBlock* block = (owner & kForwardedBit) == 0 ? nullptr : pool_.at(block_of(owner));
  if (block == nullptr) return false;
  ticks = ticks_of(block->own[slot_of(owner)]);
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool in_use_again = block->generation != generation_of(owner);
  if (in_use_again || ticks.start == 0 || ticks.end == 0) {
    ticks = Ticks{entry->start.load(std::memory_order_relaxed), entry->end.load(std::memory_order_acquire)};
  }
  return ticks.start != 0 && ticks.end != 0;
}

}  // namespace wavescope
