// The collector's one thread: sleeps, sweeps what is in flight on every queue, writes what is complete.
#ifndef WAVESCOPE_COLLECTOR_HSA_WORKER_H
#define WAVESCOPE_COLLECTOR_HSA_WORKER_H

#include <atomic>
#include <cstdint>

namespace wavescope {

class Worker {
 public:
  enum class Activity { kIdle, kWaiting, kBusy };  // nothing in flight; nothing complete; some complete
  using Sweep = Activity (*)(void* context);

  using Finish = void (*)(void* context);

  Worker(Sweep sweep, Finish last_work, void* context) : sweep_(sweep), last_work_(last_work), context_(context) {}

  // Any thread, any number of times.
  void start();

  // Lets the thread do its last work and waits until it has; false when it takes longer than the limit. Takes no lock, so
  // that it may be called wherever a process may end. Without a thread there is nothing to do.
  bool finish(uint64_t limit_ns);

  // Called for every dispatch: costs one load unless the thread sleeps for lack of work. A wake-up that is missed by a
  // hair is made up for, because the thread never sleeps longer than 50 ms.
  void wake() {
    if (__builtin_expect(asleep_.load(std::memory_order_relaxed) != 0, 0)) wake_now();
  }

  uint64_t cpu_ns() const { return cpu_ns_.load(std::memory_order_relaxed); }
  uint64_t sweeps() const { return sweeps_.load(std::memory_order_relaxed); }

 private:
  static void* run(void* worker);
  void loop();
  void sleep_until_work();
  void wake_now();

  const Sweep sweep_;
  const Finish last_work_;
  void* const context_;
  std::atomic<bool> started_{false};
  std::atomic<bool> running_{false};
  std::atomic<bool> finishing_{false};
  std::atomic<int> asleep_{0};    // a futex
  std::atomic<int> finished_{0};  // a futex
  std::atomic<uint64_t> cpu_ns_{0};
  std::atomic<uint64_t> sweeps_{0};
};

}  // namespace wavescope

#endif
