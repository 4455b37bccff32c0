// A thread of the collector that does its round when it is due or woken: each round says how long it may sleep.
#ifndef WAVESCOPE_CORE_TIMER_THREAD_H
#define WAVESCOPE_CORE_TIMER_THREAD_H

#include <atomic>
#include <cstdint>

namespace wavescope {

class TimerThread {
 public:
  struct Task {
    const char* name;
    uint64_t (*round)(void* context);    // how long until the next, ns
    void (*last_work)(void* context);
    void* context;
  };

  explicit TimerThread(const Task& task) : task_(task) {}
  TimerThread(const TimerThread&) = delete;
  TimerThread& operator=(const TimerThread&) = delete;

  // Any thread, any number of times; false when the system refuses it.
  bool start();

  // The next round comes at once. Takes no lock.
  void wake();

  // Lets the thread do its last work and waits until it has; false when it takes longer than the limit. Takes no lock, so
  // that it may be called wherever a process may end. Without a thread there is nothing to do.
  bool finish(uint64_t limit_ns);

  bool is_running() const { return running_.load(); }
  uint64_t rounds() const { return rounds_.load(std::memory_order_relaxed); }

 private:
  static void* run(void* thread);
  void loop();

  const Task task_;
  std::atomic<bool> started_{false};
  std::atomic<bool> running_{false};
  std::atomic<bool> finishing_{false};
  std::atomic<uint32_t> wakes_{0};     // a futex
  std::atomic<uint32_t> finished_{0};  // a futex
  std::atomic<uint64_t> rounds_{0};
};

}  // namespace wavescope

#endif
