#include "collector_hsa/worker.h"

#include <linux/futex.h>
#include <linux/membarrier.h>
#include <pthread.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <climits>

#include "core/clock.h"
#include "core/quiet_thread.h"

namespace wavescope {
namespace {

constexpr long kFinishPollNs = 1000000;
constexpr long kSecondNs = 1000000000;

// The kernel's sched_attr, which the C library does not declare.
struct Scheduling {
  uint32_t bytes = sizeof(Scheduling);
  uint32_t policy = SCHED_OTHER;
  uint64_t flags = 0;
  int32_t nice = 0;
  uint32_t priority = 0;
  uint64_t slice_ns = 0;
  uint64_t deadline_ns = 0;
  uint64_t period_ns = 0;
};

bool schedule(const Scheduling& wanted) { return syscall(SYS_sched_setattr, 0, &wanted, 0) == 0; }

// Before all other threads, which needs a privilege; else with so short a slice that newer kernels let it in at once.
void ask_to_be_served_first() {
  Scheduling first;
  first.policy = SCHED_FIFO;
  first.priority = 1;
  Scheduling soon;
  soon.slice_ns = 100000;
  if (!schedule(first)) schedule(soon);
}

// Makes all threads of the process see and show what is in their store buffers, so that they need no fence of their own;
// false where the kernel cannot, or was not asked to be ready for it. To be ready takes it some milliseconds.
bool fence_all_threads() { return syscall(SYS_membarrier, MEMBARRIER_CMD_PRIVATE_EXPEDITED, 0, 0) == 0; }
void get_ready_to_fence() { syscall(SYS_membarrier, MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED, 0, 0); }

void sleep_ns(long nanoseconds) {
  const timespec duration{0, nanoseconds};
  nanosleep(&duration, nullptr);
}

}  // namespace

void Worker::start() {
  if (started_.exchange(true)) return;
  const MostSignalsBlocked blocked;
  running_.store(blocked.start_thread(run, this));
}

bool Worker::finish(uint64_t limit_ns) {
  if (!running_.load()) return true;
  finishing_.store(true);
  wake_now();
  const uint64_t deadline_ns = boottime_ns() + limit_ns;
  while (finished_.load() == 0) {
    if (boottime_ns() > deadline_ns) return false;
    const timespec a_while{0, kFinishPollNs};
    syscall(SYS_futex, &finished_, FUTEX_WAIT_PRIVATE, 0, &a_while, nullptr, 0);
  }
  return true;
}

void* Worker::run(void* worker) {
  auto* self = static_cast<Worker*>(worker);
  pthread_setname_np(pthread_self(), self->task_.name);
  if (self->task_.urgency == Urgency::kFirst) ask_to_be_served_first();
  else get_ready_to_fence();  // for all threads of the process; this one has the time
  self->loop();
  return nullptr;
}

void Worker::loop() {
  long period_ns = task_.period_ns;
  asleep_.store(0, std::memory_order_relaxed);
  while (!finishing_.load(std::memory_order_relaxed)) {
    sleep_ns(period_ns);
    const Activity activity = one_round();
    if (activity == Activity::kWaiting) period_ns = std::min(period_ns + period_ns / 4, 2 * task_.period_ns);
    else period_ns = activity == Activity::kFlooded ? task_.period_ns / 2 : task_.period_ns;
    if (activity == Activity::kIdle) sleep_until_work();
  }
  if (task_.last_work != nullptr) task_.last_work(task_.context);
  finished_.store(1);
  syscall(SYS_futex, &finished_, FUTEX_WAKE_PRIVATE, INT_MAX, nullptr, nullptr, 0);
}

Worker::Activity Worker::one_round() {
  const Activity activity = task_.round(task_.context);
  rounds_.fetch_add(1, std::memory_order_relaxed);
  cpu_ns_.store(thread_cpu_ns(), std::memory_order_relaxed);
  return activity;
}

// Who publishes work looks afterwards whether the thread sleeps. After the fence either that thread sees that it does, or
// the work is seen here. Without the fence a wake-up may be missed, and the sleep is as short as between rounds.
void Worker::sleep_until_work() {
  asleep_.store(1);
  const long longest_ns = fence_all_threads() ? task_.idle_ns : task_.period_ns;
  const timespec longest{longest_ns / kSecondNs, longest_ns % kSecondNs};
  if (!finishing_.load() && one_round() == Activity::kIdle) {
    syscall(SYS_futex, &asleep_, FUTEX_WAIT_PRIVATE, 1, &longest, nullptr, 0);
  }
  asleep_.store(0, std::memory_order_relaxed);
}

void Worker::wake_now() {
  if (asleep_.exchange(0) != 0) syscall(SYS_futex, &asleep_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

}  // namespace wavescope
