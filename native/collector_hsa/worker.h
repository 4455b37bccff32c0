// A thread of the collector: sleeps, does its round, a moment later again, and sleeps longer when there is nothing to do.
#ifndef WAVESCOPE_COLLECTOR_HSA_WORKER_H
#define WAVESCOPE_COLLECTOR_HSA_WORKER_H

#include <atomic>
#include <cstdint>

namespace wavescope {

enum class Urgency {
  kAsOthers,
  kFirst,  // to be served before other threads, where the system allows that: for rounds that are short
};

class Worker {
 public:
  // Nothing in flight; nothing complete; some complete; so much that it is better done in smaller parts.
  enum class Activity { kIdle, kWaiting, kBusy, kFlooded };
  using Round = Activity (*)(void* context);
  using Finish = void (*)(void* context);

  struct Task {
    const char* name;
    Urgency urgency;
    long period_ns;    // between rounds
    long idle_ns;      // between rounds while there is no work and nobody wakes it
    Round round;
    Finish last_work;  // may be null
    void* context;
  };

  explicit Worker(const Task& task) : task_(task) {}

  // Any thread, any number of times.
  void start();

  // Lets the thread do its last work and waits until it has; false when it takes longer than the limit. Takes no lock, so
  // that it may be called wherever a process may end. Without a thread there is nothing to do.
  bool finish(uint64_t limit_ns);

  // Called for every dispatch, after it was published: costs one load unless the thread sleeps for lack of work.
  void wake() {
    if (__builtin_expect(is_asleep(), 0)) wake_now();
  }
  // Also before it is started.
  bool is_asleep() const {
    std::atomic_signal_fence(std::memory_order_seq_cst);  // the processor's part of it is the sleeper's, see there
    return asleep_.load(std::memory_order_relaxed) != 0;
  }

  uint64_t cpu_ns() const { return cpu_ns_.load(std::memory_order_relaxed); }
  uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  static void* run(void* worker);
  void loop();
  Activity one_round();
  void sleep_until_work();
  void wake_now();

  const Task task_;
  std::atomic<bool> started_{false};
  std::atomic<bool> running_{false};
  std::atomic<bool> finishing_{false};
  std::atomic<int> asleep_{1};    // a futex
  std::atomic<int> finished_{0};  // a futex
  std::atomic<uint64_t> cpu_ns_{0};
  std::atomic<uint64_t> rounds_{0};
};

}  // namespace wavescope

#endif
