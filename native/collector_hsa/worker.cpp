#include "collector_hsa/worker.h"

#include <linux/futex.h>
#include <signal.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>

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
  if (running_) return;
  stopping_ = false;
  // The application's signals are none of this thread's business.
  sigset_t all;
  sigset_t before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  running_ = pthread_create(&thread_, nullptr, run, this) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
}

bool Worker::stop() {
  if (!running_) return true;
  stopping_ = true;
  wake_now();
  timespec deadline{};
  clock_gettime(CLOCK_REALTIME, &deadline);
  deadline.tv_sec += 1;
  running_ = pthread_timedjoin_np(thread_, nullptr, &deadline) != 0;
  return !running_;
}

void* Worker::run(void* worker) {
  pthread_setname_np(pthread_self(), "wavescope");
  static_cast<Worker*>(worker)->loop();
  return nullptr;
}

void Worker::loop() {
  long period_ns = kSweepPeriodNs;
  while (!stopping_.load(std::memory_order_relaxed)) {
    sleep_ns(period_ns);
    const Activity activity = sweep_(context_);
    sweeps_.fetch_add(1, std::memory_order_relaxed);
    cpu_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
    period_ns = activity == Activity::kWaiting ? std::min(period_ns + period_ns / 4, kLongestWaitNs) : kSweepPeriodNs;
    if (activity == Activity::kIdle) sleep_until_work();
  }
}

void Worker::sleep_until_work() {
  asleep_.store(1);
  const timespec longest{0, kIdleSleepNs};
  if (!stopping_.load()) syscall(SYS_futex, &asleep_, FUTEX_WAIT_PRIVATE, 1, &longest, nullptr, 0);
  asleep_.store(0, std::memory_order_relaxed);
}

void Worker::wake_now() {
  if (asleep_.exchange(0) != 0) syscall(SYS_futex, &asleep_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace wavescope
