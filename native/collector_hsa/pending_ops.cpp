#include "collector_hsa/pending_ops.h"

#include <algorithm>

namespace wavescope {
namespace {

// A kernel that holds up the sweep for so many sweeps is stepped over: what runs beside it is written meanwhile.
constexpr uint32_t kPatientSweeps = 4;
constexpr uint32_t kMostSteppedOver = 8192;
// A signal that is complete for so many sweeps without times will never have any.
constexpr uint8_t kOverdueSweeps = 8;
constexpr uint32_t kSlotsAhead = 40;

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
  return block == nullptr || (block->first_open == block->head() && block->next.load(std::memory_order_acquire) == nullptr);
}

PendingOps::Done PendingOps::sweep(OpLog& log, Agents& agents, uint64_t now_ns, bool last) {
  Swept swept;
  SlotBlock* previous = nullptr;
  SlotBlock* written = nullptr;  // blocks to give back, once their records are written
  for (SlotBlock* block = first_.load(std::memory_order_acquire); block != nullptr;) {
    const bool go_on = sweep_block(block, log, last, swept);
    SlotBlock* next = block->next.load(std::memory_order_acquire);
    if (block->first_open == kSlots && next != nullptr) {
      if (previous == nullptr) first_.store(next, std::memory_order_relaxed);
      else previous->next.store(next, std::memory_order_relaxed);
      block->next.store(written, std::memory_order_relaxed);
      written = block;
    } else {
      previous = block;
    }
    if (!go_on) break;
    block = next;
  }
  flush(log, swept);
  while (written != nullptr) {
    SlotBlock* next = written->next.load(std::memory_order_relaxed);
    pool_.give_back(written);
    written = next;
  }
  account(swept);
  watch_oldest();
  if (gpu_ != nullptr && swept.last_tick != 0) agents.saw_ticks(*gpu_, swept.first_tick, swept.last_tick, now_ns);
  return swept.done;
}

// Takes out what is complete of one block, writing neighbours together; false when the sweep should end here.
bool PendingOps::sweep_block(SlotBlock* block, OpLog& log, bool last, Swept& swept) {
  const uint32_t head = block->head();
  uint32_t run = block->first_open;  // from here to `slot` all are complete and not yet written
  uint32_t slot = run;
  uint32_t first_open = head;
  bool go_on = true;
  for (; slot < head; ++slot) {
    __builtin_prefetch(&block->records[(slot + kSlotsAhead) % kSlots], 1);
    if (block->done[slot] == 0) {
      const bool in_place = is_in_place(block->kind_of(slot));
      const Taken taken = in_place ? take_times_in_place(block, slot, last, swept) : take_own_times(block, slot, swept);
      if (taken == Taken::kDone) {
        ++swept.done.all;
        swept.done.in_place += in_place;
        // In this order: at any moment a reader finds the times in the signal or in the record.
        block->set_place(slot, log.announce());
        __atomic_store_n(&block->done[slot], uint8_t{1}, __ATOMIC_RELAXED);
        if (!in_place) free_signal(block, slot);
        continue;
      }
      if (taken == Taken::kRefused) {
        __atomic_store_n(&block->done[slot], uint8_t{1}, __ATOMIC_RELAXED);
      } else {
        first_open = std::min(first_open, slot);
        if (last) give_up(block, slot, swept);
        else if (oldest_sweeps_ < kPatientSweeps || ++swept.stepped_over > kMostSteppedOver) go_on = false;
      }
    }
    write(block, run, slot, log, swept);
    run = slot + 1;
    if (!go_on) break;
  }
  write(block, run, slot, log, swept);
  __atomic_store_n(&block->first_open, last ? head : first_open, __ATOMIC_RELAXED);
  return go_on;
}

PendingOps::Taken PendingOps::take_times_in_place(SlotBlock* block, uint32_t slot, bool last, Swept& swept) {
  const uint64_t generation = block->generation.load(std::memory_order_relaxed);
  if (block->tag[slot].load(std::memory_order_acquire) != tag_of(generation, kTaken)) {
    // The watch comes by more often; what it does not find is looked for once it holds up the sweep.
    if (block->keeps_signals && !last && oldest_sweeps_ == 0) return Taken::kOpen;
    const WaitPolicy policy = last ? WaitPolicy::kWait : WaitPolicy::kTry;
    if (signals_.take_times(block, slot, generation, policy) == Completion::kOpen) {
      if (last || !overdue(block, slot)) return Taken::kOpen;
      signals_.take_times(block, slot, generation, WaitPolicy::kGiveUp);
    }
  }
  WavescopeOpRecord& record = block->records[slot];
  if (__builtin_expect(record.kind == WAVESCOPE_OP_NONE, 0)) return Taken::kRefused;
  complete(record, Ticks{record.start, record.end}, (record.flags & WAVESCOPE_OP_RAW_TICKS) != 0, swept);
  return Taken::kDone;
}

// Reads nothing of the record, which may be far from the processor by now.
inline PendingOps::Taken PendingOps::take_own_times(SlotBlock* block, uint32_t slot, Swept& swept) {
  __builtin_prefetch(block->own[(slot + kSlotsAhead) % kSlots], 1);
  const amd_signal_t* own = block->own[slot];
  if (value_of(own) > 0) return Taken::kOpen;
  const Ticks ticks = ticks_of(own);
  WavescopeOpRecord& record = block->records[slot];
  record.start = ticks.start;
  record.end = ticks.end;
  if (block->kind_of(slot) == SlotKind::kForwarded) signals_.remember(block, slot, ticks);
  complete(record, ticks, true, swept);
  return Taken::kDone;
}

void PendingOps::free_signal(SlotBlock* block, uint32_t slot) {
  clear_ticks(block->own[slot]);
  __atomic_store_n(&block->own[slot]->value, int64_t{1}, __ATOMIC_RELEASE);
}

void PendingOps::give_up(SlotBlock* block, uint32_t slot, Swept& swept) {
  ++swept.given_up;
  if (!is_in_place(block->kind_of(slot))) return;
  signals_.abandon(block, slot);
  block->set_place(slot, 0);  // the watch may have found it complete after all
}

// Whether an in-place signal has long been complete, as far as its value tells, and still has no times.
bool PendingOps::overdue(SlotBlock* block, uint32_t slot) {
  return signals_.is_complete_without_times(block, slot) && ++block->overdue[slot] > kOverdueSweeps;
}

inline void PendingOps::complete(WavescopeOpRecord& record, Ticks ticks, bool are_raw, Swept& swept) {
  if (__builtin_expect(ticks.start == 0 || ticks.end < ticks.start, 0)) {
    record.start = 0;
    record.end = 0;
    record.flags = static_cast<uint8_t>(record.flags | WAVESCOPE_OP_TIMES_LOST);
    ++swept.times_lost;
    return;
  }
  ++swept.timed;
  if (!are_raw) return;
  if (swept.first_tick == 0) swept.first_tick = ticks.start;
  if (ticks.end > swept.last_tick) swept.last_tick = ticks.end;
}

void PendingOps::write(const SlotBlock* block, uint32_t first, uint32_t end, OpLog& log, Swept& swept) {
  if (first >= end) return;
  if (log.is_full()) flush(log, swept);
  log.add(&block->records[first], &block->pending->places[first], end - first);
}

void PendingOps::flush(OpLog& log, Swept& swept) {
  log.flush([&](const WavescopeOpRecord* records, uint32_t count_refused) {
    swept.refused += count_refused;
    swept.refused_because = log.loss_reason();
    for (uint32_t at = 0; at < count_refused; ++at) {
      --((records[at].flags & WAVESCOPE_OP_TIMES_LOST) != 0 ? swept.times_lost : swept.timed);
    }
  });
}

void PendingOps::account(const Swept& swept) {
  if (swept.timed != 0) count(counters_.timed, swept.timed);
  if (swept.refused != 0) count(counters_.lost[swept.refused_because], swept.refused);
  if (swept.times_lost != 0) count(counters_.lost[WAVESCOPE_LOSS_TIMESTAMPS], swept.times_lost);
  if (swept.given_up != 0) count(counters_.lost[WAVESCOPE_LOSS_PENDING_AT_EXIT], swept.given_up);
}

void PendingOps::watch_oldest() {
  const SlotBlock* block = first_.load(std::memory_order_relaxed);
  if (block == nullptr || block->first_open == block->head()) {
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
