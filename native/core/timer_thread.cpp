#include "core/timer_thread.h"

#include <linux/futex.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <climits>

#include "core/clock.h"
#include "core/quiet_thread.h"

namespace wavescope {
namespace {

constexpr uint64_t kSecondNs = 1000000000;
constexpr uint64_t kFinishPollNs = 10000000;

void wait_while(std::atomic<uint32_t>& word, uint32_t value, uint64_t limit_ns) {
  const timespec longest{static_cast<time_t>(limit_ns / kSecondNs), static_cast<long>(limit_ns % kSecondNs)};
  syscall(SYS_futex, &word, FUTEX_WAIT_PRIVATE, value, &longest, nullptr, 0);
}

void advance(std::atomic<uint32_t>& word) {
  word.fetch_add(1);
  syscall(SYS_futex, &word, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

}  // namespace

bool TimerThread::start() {
  if (started_.exchange(true)) return is_running();
  const MostSignalsBlocked blocked;
  running_.store(blocked.start_thread(run, this));
  return is_running();
}

void TimerThread::wake() { advance(wakes_); }

bool TimerThread::finish(uint64_t limit_ns) {
  if (!is_running()) return true;
  finishing_.store(true);
  wake();
  const uint64_t deadline_ns = boottime_ns() + limit_ns;
  while (finished_.load() == 0) {
    if (boottime_ns() > deadline_ns) return false;
    wait_while(finished_, 0, kFinishPollNs);
  }
  return true;
}

void* TimerThread::run(void* thread) {
  auto* self = static_cast<TimerThread*>(thread);
  pthread_setname_np(pthread_self(), self->task_.name);
  self->loop();
  return nullptr;
}

void TimerThread::loop() {
  while (!finishing_.load()) {
    const uint32_t seen = wakes_.load();
    const uint64_t sleep_ns = task_.round(task_.context);
    rounds_.fetch_add(1, std::memory_order_relaxed);
    if (!finishing_.load() && sleep_ns != 0) wait_while(wakes_, seen, sleep_ns);
  }
  task_.last_work(task_.context);
  advance(finished_);
}

}  // namespace wavescope
