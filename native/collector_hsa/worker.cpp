#include "collector_hsa/worker.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "core/clock.h"

namespace wavescope {
namespace {

constexpr long kSweepPeriodNs = 1000000;
constexpr long kLongestWaitNs = 2000000;
constexpr long kIdleSleepNs = 50000000;

void sleep_ns(long nanoseconds) {
  const timespec duration{0, nanoseconds};
  nanosleep(&duration, nullptr);
}

}  // namespace

void Worker::start() {
  if (started_.exchange(true)) return;
  // The application's signals are none of this thread's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pthread_t thread{};
  const bool created = pthread_create(&thread, nullptr, run, this) == 0;
  if (created) pthread_detach(thread);
  running_.store(created);
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Worker::finish(uint64_t limit_ns) {
  if (!running_.load()) return true;
  finishing_.store(true);
  wake_now();
  const uint64_t deadline_ns = boottime_ns() + limit_ns;
  while (finished_.load() == 0) {
    if (boottime_ns() > deadline_ns) return false;
    const timespec a_while{0, kSweepPeriodNs};
    syscall(SYS_futex, &finished_, FUTEX_WAIT_PRIVATE, 0, &a_while, nullptr, 0);
  }
  return true;
}

void* Worker::run(void* worker) {
  pthread_setname_np(pthread_self(), "wavescope");
  static_cast<Worker*>(worker)->loop();
  return nullptr;
}

void Worker::loop() {
  long period_ns = kSweepPeriodNs;
  while (!finishing_.load(std::memory_order_relaxed)) {
    sleep_ns(period_ns);
    const Activity activity = sweep_(context_);
    sweeps_.fetch_add(1, std::memory_order_relaxed);
    cpu_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
    period_ns = activity == Activity::kWaiting ? std::min(period_ns + period_ns / 4, kLongestWaitNs) : kSweepPeriodNs;
    if (activity == Activity::kIdle) sleep_until_work();
  }
  last_work_(context_);
  finished_.store(1);
  syscall(SYS_futex, &finished_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

void Worker::sleep_until_work() {
  asleep_.store(1);
  const timespec longest{0, kIdleSleepNs};
  if (!finishing_.load()) syscall(SYS_futex, &asleep_, FUTEX_WAIT_PRIVATE, 1, &longest, nullptr, 0);
  asleep_.store(0, std::memory_order_relaxed);
}

void Worker::wake_now() {
  if (asleep_.exchange(0) != 0) syscall(SYS_futex, &asleep_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace wavescope
