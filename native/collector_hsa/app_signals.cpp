#include "collector_hsa/app_signals.h"

#include <cstdlib>
#include <new>

#include "core/clock.h"
#include "core/spin_wait.h"

namespace wavescope {
namespace {

constexpr uint64_t kForwardedBit = uint64_t{1} << 26;
constexpr uint32_t kBlockMask = 0xffff;
constexpr uint32_t kStretchBits = 8;
constexpr uint64_t kStretchMask = (1u << kStretchBits) - 1;
static_assert(AppSignals::kTogether <= kStretchMask, "the slots of a stretch are counted in it");
constexpr uint32_t kSignalsAhead = 8;
constexpr uint64_t kClockSlackNs = 1000;  // between the GPU's clock and ours

// Memory that costs nothing until it is used.
template <typename Element>
Element* zeroed(std::size_t count) {
  void* memory = std::calloc(count, sizeof(Element));
  if (memory == nullptr) throw std::bad_alloc();
  return static_cast<Element*>(memory);
}

uint64_t owner_of(const SlotBlock* block, uint32_t slot, bool forwarded) {
  return block->generation << 27 | (forwarded ? kForwardedBit : 0) | uint64_t{block->index} << kSlotBits | slot;
}
uint32_t block_of(uint64_t owner) { return static_cast<uint32_t>(owner >> kSlotBits) & kBlockMask; }
uint32_t slot_of(uint64_t owner) { return static_cast<uint32_t>(owner) & (kSlots - 1); }
uint64_t generation_of(uint64_t owner) { return owner >> 27; }

// Of all slots of all blocks.
uint64_t number_of(const SlotBlock* block, uint32_t slot) { return uint64_t{block->index} << kSlotBits | slot; }

}  // namespace

AppSignals::AppSignals(const HsaApi& api, SlotPool& pool)
    : api_(api),
      pool_(pool),
      table_(zeroed<Entry>(std::size_t{kRegionSignals} << kTableRegionBits)),
      times_(zeroed<Times>(std::size_t{kRegionSignals} << kTableRegionBits)) {}

// Signals of a region of memory are neighbours here as well, as they are often used in turn. The runtime's are 128 bytes
// apart; others that lie between them follow. A place that is taken leads to the same one of another region.
inline AppSignals::Entry& AppSignals::place_of(uint64_t signal, uint32_t probe) const {
  const uint64_t hash = (signal >> kRegionBits) * 0x9E3779B97F4A7C15u;
  const uint64_t in_region = (signal >> 7 & (kRegionSignals / 2 - 1)) | (signal >> 6 & 1) * (kRegionSignals / 2);
  const uint64_t region = (hash >> (64 - kTableRegionBits)) + probe * (hash | 1);
  return table_[(region & ((1u << kTableRegionBits) - 1)) * kRegionSignals + in_region];
}

inline AppSignals::Entry* AppSignals::find(uint64_t signal, bool insert) const {
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    Entry& entry = place_of(signal, probe);
    uint64_t known = entry.signal.load(std::memory_order_acquire);
    if (known == signal) return &entry;
    if (known != 0) continue;
    if (!insert) return nullptr;
    has_any_.store(true, std::memory_order_relaxed);
    if (entry.signal.compare_exchange_strong(known, signal) || known == signal) return &entry;
  }
  return nullptr;
}

bool AppSignals::adopt_app_signal(hsa_signal_t handle, SlotBlock* block, uint32_t slot) {
  auto* signal = reinterpret_cast<amd_signal_t*>(handle.handle);
  // A copy tells by its times whether it is complete; nothing but the value tells how many dispatches share a signal.
  if (block->kind_of(slot) != SlotKind::kCopy && value_of(signal) != 1) return false;
  Entry* entry = find(handle.handle, true);
  if (entry == nullptr) return false;
  // The runtime gives signals out from the last of its memory to the first, and so they are used.
  __builtin_prefetch(reinterpret_cast<const void*>(reinterpret_cast<uint64_t>(entry) - kSignalsAhead * sizeof(Entry)), 1);
  __builtin_prefetch(&block->tag[(slot + kSignalsAhead) % kSlots], 1);
  __builtin_prefetch(&block->app[(slot + kSignalsAhead) % kSlots], 1);
  const uint64_t previous = entry->owner.load(std::memory_order_acquire);
  if (previous >> kSlotBits != block->known_use || slot_of(previous) >= block->known_taken) {
    if (collect_previous_use(previous, WaitPolicy::kWait) == Completion::kOpen) return false;
    learn_what_is_taken(block, previous);
  }
  clear_ticks(signal);
  block->set_app(slot, signal);
  block->tag[slot].store(tag_of(block->generation, kPending), std::memory_order_release);
  entry->owner.store(owner_of(block, slot, false), std::memory_order_release);
  if (__builtin_expect(!block->has_in_place, 0)) {
    block->has_in_place = true;
    pool_.note_in_place(block);
  }
  return true;
}

void AppSignals::take_without_times(SlotBlock* block, uint32_t slot) {
  block->keep_times(slot, Ticks{0, 0});
  block->tag[slot].store(tag_of(block->generation, kTaken), std::memory_order_release);
}

bool AppSignals::forward(hsa_signal_t handle, SlotBlock* block, uint32_t slot) {
  Entry* entry = find(handle.handle, true);
  if (entry == nullptr) return false;
  collect_previous_use(entry->owner.load(std::memory_order_acquire), WaitPolicy::kWait);
  block->set_app(slot, reinterpret_cast<amd_signal_t*>(handle.handle));
  entry->owner.store(owner_of(block, slot, true), std::memory_order_release);
  return true;
}

void AppSignals::release_signal(hsa_signal_t signal, bool destroyed) {
  Entry* entry = signal.handle == 0 ? nullptr : find(signal.handle, false);
  if (entry == nullptr) return;
  const uint64_t owner = entry->owner.load(std::memory_order_acquire);
  if (owner == 0) return;
  collect_previous_use(owner, destroyed ? WaitPolicy::kGiveUp : WaitPolicy::kWait);
  if (destroyed || (owner & kForwardedBit) != 0) entry->owner.store(0, std::memory_order_release);
}

// Of the slot that the signal is to carry times for, if there is one.
Completion AppSignals::collect_previous_use(uint64_t owner, WaitPolicy policy) {
  if (owner == 0 || (owner & kForwardedBit) != 0) return Completion::kDone;
  SlotBlock* block = pool_.at(block_of(owner));
  if (block == nullptr || block->generation != generation_of(owner)) return Completion::kDone;
  return take_times(block, slot_of(owner), generation_of(owner), policy);
}

// Signals that are used in turn were those of neighbours the time before: what the watch has seen of the block that one
// was in goes for the next ones, without a look at memory that is far by now.
void AppSignals::learn_what_is_taken(SlotBlock* block, uint64_t owner) const {
  const SlotBlock* previous = pool_.at(block_of(owner));
  if (owner == 0 || (owner & kForwardedBit) != 0 || previous == nullptr) return;
  const bool is_in_other_use = previous->generation != generation_of(owner);
  block->known_use = owner >> kSlotBits;
  block->known_taken = is_in_other_use ? kSlots : previous->watched_in(generation_of(owner));
}

inline bool AppSignals::is_being_read(const SlotBlock* block, uint32_t slot) const {
  const uint64_t read = being_read_.load();
  return number_of(block, slot) - (read >> kStretchBits) < (read & kStretchMask);
}

// In one order for all threads, either who claims sees afterwards that the watch reads the slot, or the watch sees the
// claim.
inline AppSignals::Claim AppSignals::claim(SlotBlock* block, uint32_t slot, uint64_t generation, WaitPolicy policy) const {
  std::atomic<uint64_t>& tag = block->tag[slot];
  const uint64_t pending = tag_of(generation, kPending);
  const uint64_t claimed = tag_of(generation, kClaimed);
  uint64_t expected = pending;
  SpinWait wait;
  while (!tag.compare_exchange_weak(expected, claimed)) {
    if (expected == pending) continue;
    // Taken, or the block is in other use, which means the same; a claim of another thread lasts a few instructions.
    if (expected != claimed) return Claim::kNoNeed;
    if (policy == WaitPolicy::kTry) return Claim::kOthers;
    wait.a_moment();
    expected = pending;
  }
  while (is_being_read(block, slot)) {
    if (policy == WaitPolicy::kTry) {
      give_back(block, slot, generation);
      return Claim::kOthers;
    }
    wait.a_moment();
  }
  return tag.load(std::memory_order_acquire) == claimed ? Claim::kOurs : Claim::kNoNeed;
}

// The watch may have taken the slot meanwhile.
void AppSignals::give_back(SlotBlock* block, uint32_t slot, uint64_t generation) {
  uint64_t claimed = tag_of(generation, kClaimed);
  block->tag[slot].compare_exchange_strong(claimed, tag_of(generation, kPending), std::memory_order_release,
                                           std::memory_order_relaxed);
}

Completion AppSignals::take_times(SlotBlock* block, uint32_t slot, uint64_t generation, WaitPolicy policy) {
  std::atomic<uint64_t>& tag = block->tag[slot];
  if (tag.load(std::memory_order_acquire) == tag_of(generation, kTaken)) return Completion::kDone;
  switch (claim(block, slot, generation, policy)) {
    case Claim::kOthers: return Completion::kOpen;
    case Claim::kNoNeed: return Completion::kDone;
    case Claim::kOurs: break;
  }
  Ticks ticks = read_times(block, slot, policy);
  if (ticks.start == 0 || ticks.end == 0) {
    if (policy != WaitPolicy::kGiveUp) {
      give_back(block, slot, generation);
      return Completion::kOpen;
    }
    ticks = Ticks{0, 0};
  }
  block->keep_times(slot, ticks);
  tag.store(tag_of(generation, kTaken), std::memory_order_release);
  return Completion::kDone;
}

// A claim of each would cost more than all else here.
uint32_t AppSignals::take_times_together(SlotBlock* block, uint32_t first, uint32_t count, uint64_t generation) {
  being_read_.store(number_of(block, first) << kStretchBits | count);
  uint32_t open = 0;
  for (uint32_t at = 0; at < count; ++at) {
    const uint32_t slot = first + at;
    const uint64_t state = block->tag[slot].load();
    if (state != tag_of(generation, kPending)) {
      open |= uint32_t{state == tag_of(generation, kClaimed)} << at;
      continue;
    }
    const Ticks ticks = ticks_of(block->app[slot]);
    if (ticks.start == 0 || ticks.end == 0) {
      open |= uint32_t{1} << at;
      continue;
    }
    block->keep_times(slot, ticks);
    block->tag[slot].store(tag_of(generation, kTaken), std::memory_order_release);
  }
  being_read_.store(0, std::memory_order_release);
  return open;
}

void AppSignals::abandon(SlotBlock* block, uint32_t slot) const {
  const uint64_t generation = block->generation;
  if (claim(block, slot, generation, WaitPolicy::kWait) != Claim::kOurs) return;
  block->tag[slot].store(tag_of(generation, kTaken), std::memory_order_release);
}

// The slot is pending until it is claimed, so the signal lives; whoever destroys it takes the slot first.
bool AppSignals::is_complete_without_times(SlotBlock* block, uint32_t slot) const {
  const uint64_t generation = block->generation;
  if (claim(block, slot, generation, WaitPolicy::kTry) != Claim::kOurs) return false;
  const bool is_complete = value_of(block->app[slot]) < 1;
  give_back(block, slot, generation);
  return is_complete;
}

// The operation's times; while it is not complete one of them is zero.
inline Ticks AppSignals::read_times(SlotBlock* block, uint32_t slot, WaitPolicy policy) const {
  const amd_signal_t* signal = block->app[slot];
  if (block->kind_of(slot) == SlotKind::kCopy) return read_times_of_copy(signal, block->records[slot], policy);
  return ticks_of(signal);
}

Ticks AppSignals::read_times_of_copy(const amd_signal_t* signal, WavescopeOpRecord& record, WaitPolicy policy) const {
  const bool changed = value_of(signal) != static_cast<int64_t>(record.end);
  if (!changed && policy == WaitPolicy::kTry) return Ticks{0, 0};
  Ticks ticks{0, 0};
  return ask_for_copy_times(signal, record, ticks) ? ticks : ticks_of(signal);
}

// The copy engines' times are not where a dispatch's are, but the runtime finds them. They are this copy's when they lie
// after its submission; times that a signal still has from before do not.
bool AppSignals::ask_for_copy_times(const amd_signal_t* signal, WavescopeOpRecord& record, Ticks& ticks) const {
  hsa_amd_profiling_async_copy_time_t time{};
  const hsa_signal_t handle{reinterpret_cast<uint64_t>(signal)};
  if (api_.get_async_copy_time(handle, &time) != HSA_STATUS_SUCCESS) return false;
  if (time.start + kClockSlackNs < record.start || time.end < time.start || time.end > boottime_ns() + kClockSlackNs) {
    return false;
  }
  ticks = Ticks{time.start, time.end};
  record.flags = static_cast<uint8_t>(record.flags & ~WAVESCOPE_OP_RAW_TICKS);
  return true;
}

void AppSignals::remember(const SlotBlock* block, uint32_t slot, Ticks ticks) {
  Entry* entry = find(reinterpret_cast<uint64_t>(block->app[slot]), false);
  if (entry == nullptr || entry->owner.load(std::memory_order_acquire) != owner_of(block, slot, true)) return;
  times_of(entry).start.store(ticks.start, std::memory_order_relaxed);
  times_of(entry).end.store(ticks.end, std::memory_order_release);
}

bool AppSignals::forwarded_ticks(hsa_signal_t signal, Ticks& ticks) const {
  const Entry* entry = find(signal.handle, false);
  const uint64_t owner = entry == nullptr ? 0 : entry->owner.load(std::memory_order_acquire);
  const SlotBlock* block = (owner & kForwardedBit) == 0 ? nullptr : pool_.at(block_of(owner));
  if (block == nullptr) return false;
  ticks = ticks_of(block->own[slot_of(owner)]);
  const bool in_use_again = block->generation != generation_of(owner);
  if (in_use_again || ticks.start == 0 || ticks.end == 0) {
    const Times& times = times_of(entry);
    ticks = Ticks{times.start.load(std::memory_order_relaxed), times.end.load(std::memory_order_acquire)};
  }
  return ticks.start != 0 && ticks.end != 0;
}

}  // namespace wavescope
