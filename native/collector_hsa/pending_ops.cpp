#include "collector_hsa/pending_ops.h"

namespace wavescope {
namespace {

// A kernel that holds up the sweep for so many sweeps is stepped over: what runs beside it is written meanwhile.
constexpr uint32_t kPatientSweeps = 4;
constexpr uint32_t kMostSteppedOver = 8192;
// A signal that is complete for so many sweeps without times will never have any.
constexpr uint8_t kOverdueSweeps = 8;

void advance(SlotBlock* block) { __atomic_store_n(&block->first_open, block->first_open + 1, __ATOMIC_RELAXED); }

}  // namespace

bool PendingOps::next_block() {
  SlotBlock* block = pool_.take();
  if (block == nullptr) return false;
  if (block_ == nullptr) first_.store(block, std::memory_order_release);
  else block_->next.store(block, std::memory_order_release);
  block_ = block;
  slot_ = 0;
  return true;
}

bool PendingOps::empty() const {
  const SlotBlock* block = first_.load(std::memory_order_acquire);
  return block == nullptr ||
         (block->first_open == block->head.load(std::memory_order_acquire) && block->next.load(std::memory_order_acquire) == nullptr);
}

uint32_t PendingOps::sweep(OpLog& log, Agents& agents, uint64_t now_ns, bool last) {
  Swept swept;
  SlotBlock* previous = nullptr;
  for (SlotBlock* block = first_.load(std::memory_order_acquire); block != nullptr;) {
    const bool go_on = sweep_block(block, log, last, swept);
    SlotBlock* next = block->next.load(std::memory_order_acquire);
    if (block->first_open == kSlots && next != nullptr) {
      if (previous == nullptr) first_.store(next, std::memory_order_relaxed);
      else previous->next.store(next, std::memory_order_relaxed);
      pool_.give_back(block);
    } else {
      previous = block;
    }
    if (!go_on) break;
    block = next;
  }
  account(log, swept);
  watch_oldest();
  if (gpu_ != nullptr && swept.last_tick != 0) agents.saw_ticks(*gpu_, swept.first_tick, swept.last_tick, now_ns);
  return swept.taken;
}

// Takes out what is complete of one block; false when the sweep should end here.
bool PendingOps::sweep_block(SlotBlock* block, OpLog& log, bool last, Swept& swept) {
  const uint32_t head = block->head.load(std::memory_order_acquire);
  for (uint32_t slot = block->first_open; slot < head; ++slot) {
    if (block->done[slot] != 0) {
      if (slot == block->first_open) advance(block);
      continue;
    }
    __builtin_prefetch(&block->records[(slot + 8) % kSlots]);
    __builtin_prefetch(block->own[(slot + 8) % kSlots], 1);
    const Harvest harvested = harvest(block, slot, last);
    if (harvested == Harvest::kOpen && !last) {
      if (oldest_sweeps_ < kPatientSweeps || ++swept.stepped_over > kMostSteppedOver) return false;
      continue;
    }
    if (harvested == Harvest::kOpen) ++swept.given_up;
    else write(block, slot, log, swept);
    ++swept.taken;
    if (slot == block->first_open) advance(block);
    else __atomic_store_n(&block->done[slot], uint8_t{1}, __ATOMIC_RELAXED);
  }
  return true;
}

Harvest PendingOps::harvest(SlotBlock* block, uint32_t slot, bool last) {
  if (!is_in_place(block->kind[slot])) return harvest_own(block, slot);
  const Effort effort = last ? Effort::kAsk : Effort::kGlance;
  const Harvest harvested = signals_.harvest(block, slot, block->generation, effort);
  if (harvested != Harvest::kOpen || last || !overdue(block, slot)) return harvested;
  return signals_.harvest(block, slot, block->generation, Effort::kGiveUp);
}

Harvest PendingOps::harvest_own(SlotBlock* block, uint32_t slot) {
  amd_signal_t* own = block->own[slot];
  if (value_of(own) > 0) return Harvest::kOpen;
  const Ticks ticks = ticks_of(own);
  WavescopeOpRecord& record = block->records[slot];
  record.start = ticks.start;
  record.end = ticks.end;
  if (block->kind[slot] == SlotKind::kForwarded) signals_.remember(block, slot, ticks);
  clear_ticks(own);
  __atomic_store_n(&own->value, int64_t{1}, __ATOMIC_RELEASE);
  return Harvest::kDone;
}

// Whether an in-place signal has long been complete, as far as its value tells, and still has no times.
bool PendingOps::overdue(SlotBlock* block, uint32_t slot) {
  // The slot is pending, so the signal lives; whoever destroys it takes the slot first.
  std::atomic<uint64_t>& tag = block->tag[slot];
  uint64_t pending = tag_of(block->generation, kPending);
  if (!tag.compare_exchange_strong(pending, tag_of(block->generation, kClaimed), std::memory_order_acquire)) return false;
  const bool complete = value_of(block->app[slot]) < 1;
  tag.store(tag_of(block->generation, kPending), std::memory_order_release);
  return complete && ++block->overdue[slot] > kOverdueSweeps;
}

void PendingOps::write(const SlotBlock* block, uint32_t slot, OpLog& log, Swept& swept) {
  const WavescopeOpRecord& record = block->records[slot];
  WavescopeOpRecord* written = log.next();
  *written = record;
  if (__builtin_expect(record.start == 0 || record.end < record.start, 0)) {
    written->start = 0;
    written->end = 0;
    written->flags = static_cast<uint8_t>(record.flags | WAVESCOPE_OP_TIMES_LOST);
    ++swept.times_lost;
    return;
  }
  if ((record.flags & WAVESCOPE_OP_RAW_TICKS) == 0) return;
  if (swept.first_tick == 0) swept.first_tick = record.start;
  if (record.end > swept.last_tick) swept.last_tick = record.end;
}

void PendingOps::account(OpLog& log, const Swept& swept) {
  log.flush();
  const uint64_t refused = log.take_refused();
  const uint64_t written = log.take_written();
  if (written > swept.times_lost) count(counters_.timed, written - swept.times_lost);
  if (refused != 0) count(counters_.lost[WAVESCOPE_LOSS_SIZE_LIMIT], refused);
  if (swept.times_lost != 0) count(counters_.lost[WAVESCOPE_LOSS_TIMESTAMPS], swept.times_lost);
  if (swept.given_up != 0) count(counters_.lost[WAVESCOPE_LOSS_PENDING_AT_EXIT], swept.given_up);
}

void PendingOps::watch_oldest() {
  const SlotBlock* block = first_.load(std::memory_order_relaxed);
  if (block == nullptr || block->first_open == block->head.load(std::memory_order_acquire)) {
    oldest_sweeps_ = 0;
    return;
  }
  const uint64_t oldest = block->generation << kSlotBits | block->first_open;
  oldest_sweeps_ = oldest == oldest_ ? oldest_sweeps_ + 1 : 0;
  oldest_ = oldest;
}

void PendingOps::release() {
  for (SlotBlock* block = first_.load(); block != nullptr;) {
    SlotBlock* next = block->next.load(std::memory_order_acquire);
    pool_.give_back(block);
    block = next;
  }
  first_.store(nullptr);
  block_ = nullptr;
  slot_ = 0;
}

}  // namespace wavescope
