// The application's completion signals: which dispatch or copy in flight each of them belongs to.
//
// A dispatch may keep the application's signal when its value is 1 and nothing else in flight uses it: then the GPU writes
// the times there, completes it in its turn, and the collector only reads. The times are zeroed at submission and are
// complete when both are not zero; the value tells nothing, because the application may store a new one at once. They are
// copied to the slot's record, which outlives the process: before the signal is used for something else or destroyed, by
// whoever does that, or within a millisecond, by the watch or the worker.
//
// Otherwise a barrier behind the dispatch completes the application's signal, and its times are remembered here for the
// application to ask for.
#ifndef WAVESCOPE_COLLECTOR_HSA_APP_SIGNALS_H
#define WAVESCOPE_COLLECTOR_HSA_APP_SIGNALS_H

#include <atomic>
#include <cstdint>

#include "collector_hsa/hsa_abi.h"
#include "collector_hsa/hsa_api.h"
#include "collector_hsa/slot_block.h"
#include "collector_hsa/slot_pool.h"

namespace wavescope {

enum class Completion { kOpen, kDone };

// How hard to look for times. A try does not wait for another thread that is at it. And the runtime complains when it is
// asked for a copy's times too early, so a try only asks after the signal's value has changed; who is about to use the
// signal again cannot rely on that.
enum class WaitPolicy { kTry, kWait, kGiveUp };

class AppSignals {
 public:
  AppSignals(const HsaApi& api, SlotPool& pool);

  // Whether the operation of this slot, whose kind and record are filled in, may keep its signal; then it is the slot's
  // from now on.
  bool adopt_app_signal(hsa_signal_t handle, SlotBlock* block, uint32_t slot);

  // The operation of a slot in place was given up: its signal is not looked at any more.
  void abandon(SlotBlock* block, uint32_t slot) const;

  // Whether the signal of a slot in place is complete as far as its value tells, and has no times yet. A try.
  bool is_complete_without_times(SlotBlock* block, uint32_t slot) const;

  // For an operation that has no signal that could carry times.
  static void take_without_times(SlotBlock* block, uint32_t slot);

  // Notes that a barrier completes the signal for this slot; false when there is no room to remember it.
  bool forward(hsa_signal_t handle, SlotBlock* block, uint32_t slot);

  // Whether any was ever taken note of: without one there is nothing to release.
  bool has_any() const { return has_any_.load(std::memory_order_relaxed); }

  // Before the signal goes to something that writes other times (a barrier, a copy), or is destroyed.
  void release_signal(hsa_signal_t signal, bool destroyed);

  // Copies the times of a slot in place to its record. With kGiveUp an open one is taken without times.
  Completion take_times(SlotBlock* block, uint32_t slot, uint64_t generation, WaitPolicy policy);

  // For the one thread that watches, instead of claims: says what it reads and reads that, with kTry, of dispatches in place
  // in up to kTogether slots from `first` on. A bit for each that is open.
  static constexpr uint32_t kTogether = 16;
  uint32_t take_times_together(SlotBlock* block, uint32_t first, uint32_t count, uint64_t generation);

  // Remembers the times of a forwarded slot that is about to be used again.
  void remember(const SlotBlock* block, uint32_t slot, Ticks ticks);

  // The times of the newest dispatch that was forwarded to the signal; false when the signal has its own.
  bool forwarded_ticks(hsa_signal_t signal, Ticks& ticks) const;

 private:
  struct Entry {
    std::atomic<uint64_t> signal{0};
    std::atomic<uint64_t> owner{0};  // generation << 27 | forwarded << 26 | block << 10 | slot; 0: nobody
  };
  struct Times {  // of the newest forwarded dispatch, once taken
    std::atomic<uint64_t> start{0};
    std::atomic<uint64_t> end{0};
  };
  static constexpr uint32_t kRegionBits = 15;  // of memory: its signals are neighbours in the table
  static constexpr uint32_t kRegionSignals = 1u << (kRegionBits - 6);
  static constexpr uint32_t kTableRegionBits = 8;
  static constexpr uint32_t kProbes = 32;

  enum class Claim { kOurs, kOthers, kNoNeed };

  Entry& place_of(uint64_t signal, uint32_t probe) const;
  Entry* find(uint64_t signal, bool insert) const;
  Times& times_of(const Entry* entry) const { return times_[entry - table_]; }
  Completion collect_previous_use(uint64_t owner, WaitPolicy policy);
  void learn_what_is_taken(SlotBlock* block, uint64_t owner) const;
  Claim claim(SlotBlock* block, uint32_t slot, uint64_t generation, WaitPolicy policy) const;
  static void give_back(SlotBlock* block, uint32_t slot, uint64_t generation);
  bool is_being_read(const SlotBlock* block, uint32_t slot) const;
  Ticks read_times(SlotBlock* block, uint32_t slot, WaitPolicy policy) const;
  Ticks read_times_of_copy(const amd_signal_t* signal, WavescopeOpRecord& record, WaitPolicy policy) const;
  bool ask_for_copy_times(const amd_signal_t* signal, WavescopeOpRecord& record, Ticks& ticks) const;

  const HsaApi& api_;
  SlotPool& pool_;
  Entry* const table_;  // a signal stays for ever: the runtime uses their addresses again
  Times* const times_;  // by the place in the table; apart from it, because few have any
  mutable std::atomic<bool> has_any_{false};
  // By the watch: the number of the first slot << 8 | how many. Alone in its line, as the watch writes it all the time.
  alignas(64) std::atomic<uint64_t> being_read_{0};
};

}  // namespace wavescope

#endif
