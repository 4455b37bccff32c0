// What one queue (or the copy engines) has in flight: slots filled by the producer, swept by the worker.
#ifndef WAVESCOPE_COLLECTOR_HSA_PENDING_OPS_H
#define WAVESCOPE_COLLECTOR_HSA_PENDING_OPS_H

#include <cstdint>

#include "collector_hsa/agents.h"
#include "collector_hsa/app_signals.h"
#include "collector_hsa/op_log.h"
#include "collector_hsa/slot_block.h"
#include "collector_hsa/slot_pool.h"

namespace wavescope {

// Counts of one writer, in the mapped counters stream.
inline void count(uint64_t& counter, uint64_t more = 1) {
  __atomic_store_n(&counter, __atomic_load_n(&counter, __ATOMIC_RELAXED) + more, __ATOMIC_RELAXED);
}

inline void uncount(uint64_t& counter) {
  __atomic_store_n(&counter, __atomic_load_n(&counter, __ATOMIC_RELAXED) - 1, __ATOMIC_RELAXED);
}

class PendingOps {
 public:
  PendingOps(SlotPool& pool, AppSignals& signals, Gpu* gpu, WavescopeCounterRecord& counters)
      : pool_(pool), signals_(signals), gpu_(gpu), counters_(counters) {}

  // Producer: a slot to fill; false when there is none, which is a loss. One producer at a time.
  bool reserve() { return __builtin_expect(block_ != nullptr && slot_ < kSlots, 1) ? true : next_block(); }
  SlotBlock* block() const { return block_; }
  uint32_t slot() const { return slot_; }
  // Producer: the slot is filled.
  void publish() { block_->set_head(++slot_); }

  // Slots taken out, and those of them that were in place, whose times others had brought to their records.
  struct Done {
    uint32_t all = 0;
    uint32_t in_place = 0;
  };
  // Worker: writes what is complete. With `last`, what is open is given up.
  Done sweep(OpLog& log, Agents& agents, uint64_t now_ns, bool last);
  bool empty() const;

  // After the last sweep: its blocks are free for others.
  void release();

  WavescopeCounterRecord& counters() { return counters_; }
  Gpu* gpu() const { return gpu_; }

 private:
  struct Swept {
    Done done;
    uint32_t stepped_over = 0;
    uint64_t timed = 0;
    uint64_t times_lost = 0;
    uint64_t refused = 0;
    WavescopeLossReason refused_because = WAVESCOPE_LOSS_SIZE_LIMIT;
    uint64_t given_up = 0;
    uint64_t first_tick = 0;
    uint64_t last_tick = 0;
  };

  bool next_block();
  bool sweep_block(SlotBlock* block, OpLog& log, bool last, Swept& swept);
  // Whether the slot is complete; then its record is, too, unless the runtime refused the op.
  enum class Taken { kOpen, kDone, kRefused };
  Taken take_times_in_place(SlotBlock* block, uint32_t slot, bool last, Swept& swept);
  Taken take_own_times(SlotBlock* block, uint32_t slot, Swept& swept);
  static void complete(WavescopeOpRecord& record, Ticks ticks, bool are_raw, Swept& swept);
  static void write(const SlotBlock* block, uint32_t first, uint32_t end, OpLog& log, Swept& swept);
  static void flush(OpLog& log, Swept& swept);
  void give_up(SlotBlock* block, uint32_t slot, Swept& swept);
  static void free_signal(SlotBlock* block, uint32_t slot);
  bool overdue(SlotBlock* block, uint32_t slot);
  void account(const Swept& swept);
  void watch_oldest();

  SlotPool& pool_;
  AppSignals& signals_;
  Gpu* const gpu_;
  WavescopeCounterRecord& counters_;

  SlotBlock* block_ = nullptr;
  uint32_t slot_ = 0;

  std::atomic<SlotBlock*> first_{nullptr};
  uint64_t oldest_ = 0;       // generation and slot of the oldest open one
  uint32_t oldest_sweeps_ = 0;  // for so many sweeps
};

}  // namespace wavescope

#endif
