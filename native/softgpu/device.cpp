#include "softgpu/device.h"

#include <linux/futex.h>
#include <pthread.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <condition_variable>
#include <ctime>
#include <utility>

namespace softgpu {

namespace {

constexpr uint64_t shortest_sleep_ns = 20'000;
// A sleep is a fraction of the idle time before it, so that finding new work late is never long in comparison.
constexpr uint64_t idle_part_slept = 8;
// A queue that waits for memory is looked at more often than an idle one: the host may write it unannounced.
constexpr uint64_t longest_blocked_sleep_ns = 200'000;
constexpr uint64_t epoch_ticks_per_gpu = 1'000'000'000'000;
static_assert(sizeof(std::atomic<uint32_t>) == sizeof(uint32_t));

void pause_processor() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#endif
}

// The application's signals are none of the scheduler's business.
class BlockedSignals {
 public:
  BlockedSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~BlockedSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  BlockedSignals(const BlockedSignals&) = delete;
  BlockedSignals& operator=(const BlockedSignals&) = delete;

 private:
  sigset_t before_;
};

}  // namespace

Device::Device(const Parts& parts)
    : pacing_(parts.configuration.pacing),
      clock_(parts.clock),
      gpu_clock_(epoch_ticks_per_gpu * (parts.gpu_index + 1), parts.start_ns,
                 parts.configuration.faults.clock_drift_ppb(parts.gpu_index),
                 parts.configuration.faults.clock_jumps(parts.gpu_index)),
      kernels_(parts.gpu_index, parts.configuration, parts.memory),
      truth_(parts.truth_file),
      services_{parts.gpu_index,  pacing_,  clock_, gpu_clock_,        parts.memory,
                parts.interrupts, kernels_, truth_, parts.signal_ends, *this},
      interrupts_(parts.interrupts),
      signals_completed_(parts.signals_completed),
      gpu_index_(parts.gpu_index) {}

Device::~Device() {
  stop();
  truth_.flush();
}

void Device::stop() {
  is_stopping_.store(true, std::memory_order_release);
  nudge();
  if (scheduler_.joinable()) scheduler_.join();
}

void Device::add_aql_queue(uint64_t id, const QueueMemory& memory, const uint32_t* properties, ErrorReport error) {
  add_queue(std::make_unique<AqlQueue>(id, services_, memory, properties, error));
}

void Device::add_sdma_queue(uint64_t id, const QueueMemory& memory) {
  add_queue(std::make_unique<SdmaQueue>(id, services_, memory));
}

void Device::add_queue(std::unique_ptr<Queue> queue) {
  between_passes([&] { queues_.push_back(std::move(queue)); });
}

bool Device::remove_queue(uint64_t id) {
  bool is_here = false;
  between_passes([&] {
    const auto kept = std::remove_if(queues_.begin(), queues_.end(), [&](const auto& queue) { return queue->id() == id; });
    is_here = kept != queues_.end();
    queues_.erase(kept, queues_.end());
  });
  return is_here;
}

bool Device::suspend_queue(uint64_t id, bool is_suspended) {
  bool is_here = false;
  between_passes([&] {
    for (const auto& queue : queues_) {
      if (queue->id() != id) continue;
      queue->suspend(is_suspended);
      is_here = true;
    }
  });
  return is_here;
}

void Device::between_passes(const std::function<void()>& change) {
  std::mutex mutex;
  std::condition_variable done;
  bool is_done = false;
  {
    const std::lock_guard<std::mutex> guard(changes_mutex_);
    if (!scheduler_.joinable()) {
      const BlockedSignals blocked;
      scheduler_ = std::thread(&Device::run, this);
    }
    changes_.emplace_back([&] {
      change();
      const std::lock_guard<std::mutex> inner(mutex);
      is_done = true;
      done.notify_one();
    });
    has_changes_.store(true, std::memory_order_release);
  }
  nudge();
  std::unique_lock<std::mutex> lock(mutex);
  done.wait(lock, [&] { return is_done; });
}

void Device::make_changes() {
  std::vector<std::function<void()>> changes;
  {
    const std::lock_guard<std::mutex> guard(changes_mutex_);
    changes.swap(changes_);
    has_changes_.store(false, std::memory_order_relaxed);
  }
  for (const auto& change : changes) change();
}

void Device::run() {
  const std::string name = "softgpu" + std::to_string(gpu_index_);
  pthread_setname_np(pthread_self(), name.c_str());
  prctl(PR_SET_TIMERSLACK, 1000UL, 0UL, 0UL, 0UL);
  while (!is_stopping_.load(std::memory_order_acquire)) {
    if (has_changes_.load(std::memory_order_acquire)) make_changes();
    const Progress progress = pass();
    if (progress.has_moved) {
      last_work_ns_ = clock_.now_ns();
      truth_.flush_when_due(last_work_ns_);
      signals_completed_();
    } else {
      wait_for_work(progress);
    }
  }
}

Progress Device::pass() {
  Progress all;
  for (const auto& queue : queues_) {
    const Progress progress = queue->advance();
    all.has_moved |= progress.has_moved;
    all.is_blocked |= progress.is_blocked;
    all.next_ns = std::min(all.next_ns, progress.next_ns);
  }
  if (!late_.empty()) raise_late_interrupts(all);
  return all;
}

void Device::raise_at(uint64_t due_ns, uint32_t event_id) { late_.push_back({due_ns, event_id}); }

void Device::raise_late_interrupts(Progress& progress) {
  const uint64_t now = clock_.now_ns();
  const auto later =
      std::partition(late_.begin(), late_.end(), [&](const LateInterrupt& late) { return late.due_ns > now; });
  for (auto due = later; due != late_.end(); ++due) interrupts_.raise(due->event_id);
  progress.has_moved |= later != late_.end();
  late_.erase(later, late_.end());
  for (const LateInterrupt& late : late_) progress.next_ns = std::min(progress.next_ns, late.due_ns);
}

uint32_t Device::busy_queues(uint64_t at_ns) const {
  uint32_t count = 0;
  for (const auto& queue : queues_) count += queue->free_at_ns() > at_ns;
  return count;
}

void Device::wait_for_work(const Progress& progress) {
  const uint64_t now = clock_.now_ns();
  const uint64_t idle_ns = now - last_work_ns_;
  const uint64_t until_next = progress.next_ns > now ? progress.next_ns - now : 0;
  if (idle_ns < pacing_.spin_ns || until_next <= pacing_.spin_ns) {
    pause_processor();
    return;
  }
  truth_.flush_when_due(now);
  uint64_t longest = std::min(pacing_.longest_sleep_ns, until_next - pacing_.spin_ns);
  if (progress.is_blocked) longest = std::min(longest, longest_blocked_sleep_ns);
  sleep(std::min(std::max(idle_ns / idle_part_slept, shortest_sleep_ns), longest), progress.is_blocked);
}

void Device::sleep(uint64_t nanoseconds, bool is_blocked) {
  const uint32_t seen = nudges_.load(std::memory_order_acquire);
  if (has_changes_.load(std::memory_order_acquire) || is_stopping_.load(std::memory_order_acquire)) return;
  sleep_.store(is_blocked ? Sleep::blocked : Sleep::idle, std::memory_order_seq_cst);
  timespec duration{static_cast<time_t>(nanoseconds / 1'000'000'000), static_cast<long>(nanoseconds % 1'000'000'000)};
  const bool is_endless = queues_.empty() && late_.empty();
  syscall(SYS_futex, &nudges_, FUTEX_WAIT_PRIVATE, seen, is_endless ? nullptr : &duration, nullptr, 0);
  sleep_.store(Sleep::awake, std::memory_order_seq_cst);
  if (nudges_.load(std::memory_order_acquire) != seen) {  // somebody expects something: look closely for a while
    last_work_ns_ = clock_.now_ns();
  }
}

void Device::nudge() {
  nudges_.fetch_add(1, std::memory_order_seq_cst);
  if (sleep_.load(std::memory_order_seq_cst) == Sleep::awake) return;
  syscall(SYS_futex, &nudges_, FUTEX_WAKE_PRIVATE, 1, nullptr, nullptr, 0);
}

void Device::nudge_if_asleep() {
  if (sleep_.load(std::memory_order_seq_cst) != Sleep::awake) nudge();
}

void Device::nudge_if_blocked() {
  if (sleep_.load(std::memory_order_relaxed) == Sleep::blocked) nudge();
}

}  // namespace softgpu
