// Looks at the application's signals once a millisecond while any of them is to carry times, and has what they say copied
// to where it outlives the process. It waits for nobody, above all for no disk, and asks to be served before other threads:
// so a program that is killed loses the last moment at most, also on a busy machine.
#ifndef WAVESCOPE_COLLECTOR_HSA_SIGNAL_WATCH_H
#define WAVESCOPE_COLLECTOR_HSA_SIGNAL_WATCH_H

#include "collector_hsa/app_signals.h"
#include "collector_hsa/slot_pool.h"
#include "collector_hsa/worker.h"

namespace wavescope {

class SignalWatch {
 public:
  SignalWatch(const SlotPool& pool, AppSignals& signals)
      : pool_(pool),
        signals_(signals),
        worker_({"wavescope-watch", Urgency::kFirst, kPeriodNs, kIdleNs, look, nullptr, this}) {}

  // Where blocks are like this one: a thread takes milliseconds to start, so this is best done before there is work.
  void begin(const SlotBlock* block);

  // After a slot in place of this block was published.
  void published(const SlotBlock* block) {
    if (__builtin_expect(worker_.is_asleep(), 0)) begin(block);
  }

  // The application's signals are not looked at any more after this, unless it takes longer than the limit.
  bool finish(uint64_t limit_ns) { return worker_.finish(limit_ns); }
  uint64_t cpu_ns() const { return worker_.cpu_ns(); }

 private:
  static constexpr long kPeriodNs = 1000000;
  static constexpr long kIdleNs = 10000000000;

  static Worker::Activity look(void* watch);
  struct Neighbours {
    uint32_t first;
    uint32_t count;
    SlotKind kind;
  };
  bool look_at(SlotBlock* block);
  static Neighbours neighbours_at(const SlotBlock* block, uint32_t first, uint32_t head);
  uint32_t take(SlotBlock* block, Neighbours slots, uint64_t generation);

  const SlotPool& pool_;
  AppSignals& signals_;
  Worker worker_;
};

}  // namespace wavescope

#endif
