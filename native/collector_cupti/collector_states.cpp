// What of CUPTI the collector has: taken, on, paused, let go of to another tool.
#include <time.h>

#include "collector_cupti/collector.h"
#include "core/clock.h"

namespace wavescope::cupti {
namespace {

constexpr uint64_t kMillisecondNs = 1000000;
constexpr uint64_t kYieldDrainNs = 200 * kMillisecondNs;
constexpr uint64_t kYieldLockNs = 2000 * kMillisecondNs;
constexpr uint64_t kFollowLimitNs = 1000 * kMillisecondNs;
constexpr uint64_t kTakeBackDelayNs = 5 * kMillisecondNs;
constexpr uint64_t kRetryNs = 1000 * kMillisecondNs;

void sleep_ns(uint64_t ns) {
  const timespec duration{static_cast<time_t>(ns / 1000000000), static_cast<long>(ns % 1000000000)};
  nanosleep(&duration, nullptr);
}

// Not locked where that takes longer.
std::unique_lock<std::mutex> lock_within(std::mutex& mutex, uint64_t limit_ns) {
  const uint64_t deadline_ns = boottime_ns() + limit_ns;
  std::unique_lock<std::mutex> lock(mutex, std::try_to_lock);
  while (!lock.owns_lock() && boottime_ns() < deadline_ns) {
    sleep_ns(kMillisecondNs / 10);
    lock.try_lock();
  }
  return lock;
}

}  // namespace

// Who pauses or resumes wants it done from the next launch on, if the worker can see to it soon.
void Collector::control_changed(void* collector) {
  auto* self = static_cast<Collector*>(collector);
  if (!self->active_.load() || !self->thread_.is_running()) return;
  const uint64_t before = self->rounds_done_.load();
  const uint64_t deadline_ns = boottime_ns() + kFollowLimitNs;
  self->thread_.wake();
  // The round that is going on may have looked already.
  while (self->rounds_done_.load() < before + 2 && self->active_.load() && boottime_ns() < deadline_ns) {
    sleep_ns(kMillisecondNs / 10);
    self->thread_.wake();
  }
}

void Collector::yield_to(const char* tool) {
  if (is_yielded_.load()) return;
  const auto lock = lock_within(mutex_, kYieldLockNs);
  if (lock.owns_lock() && yield(tool)) leave_graphs(tool);
}

void Collector::yield_to_end(const char* tool) {
  if (is_yielded_.load()) return;
  const auto lock = lock_within(mutex_, kYieldLockNs);
  if (lock.owns_lock()) yield(tool);
}

// False when it was done before or there is nothing to do it for.
bool Collector::yield(const char* tool) {
  if (!active_.load() || is_yielded_.exchange(true)) return false;
  const uint64_t now_ns = boottime_ns();
  if (state_ != State::kOff && session_.recording()) {
    session_.facts().note("GPU work not recorded from " + since_start(now_ns) +
                          " on, because a profiler of the program took CUPTI (" + tool + ")");
    is_gap_noted_ = true;
  }
  bool wanted = true;
  if (state_ == State::kDetachable && !detach_wanted_.compare_exchange_strong(wanted, false)) {
    while (!is_detached_.load() && boottime_ns() < now_ns + kYieldDrainNs) sleep_ns(kMillisecondNs / 10);
    is_detached_.store(false);
    attachment_.forget();
  }
  if (state_ == State::kOn) stop_recording(now_ns, WAVESCOPE_SKIP_PAUSED);
  if (state_ == State::kDraining) drain_here(kYieldDrainNs);
  attachment_.let_go();
  state_ = State::kOff;
  return true;
}

// Records of whole graphs would keep those of their kernels from the tool.
void Collector::leave_graphs(const char* tool) {
  if (!attachment_.is_on(Records::kGraphs)) return;
  if (!api_.saw_graphs()) return attachment_.turn_off_graphs();
  session_.facts().note(std::string("the profiler of the program that took CUPTI (") + tool +
                        ") gets runs of whole graphs, not their kernels: CUPTI cannot stop with those");
}

void Collector::take_back_anew() {
  was_finalized_.store(true);
  take_back();
}

void Collector::take_back() {
  if (!active_.load()) return;
  attach_after_ns_.store(boottime_ns() + kTakeBackDelayNs);
  is_yielded_.store(false);
  thread_.wake();
}

bool Collector::attach(std::string& reason) {
  if (was_finalized_.exchange(false)) attachment_.forget();
  if (was_attached_) notes_.begin_epoch();
  api_.skip(WAVESCOPE_SKIP_PAUSED);
  if (!attachment_.take({on_callback, this, on_request, on_completion}, reason)) return false;
  was_attached_ = true;
  api_.enable(attachment_.subscriber());
  clocks_.take(decoder_.gpus());
  if (turn_on(reason)) return true;
  attachment_.let_go();
  return false;
}

bool Collector::turn_on(std::string& reason) {
  if (!is_sliced_) {
    if (mode_ == Mode::kLite) attachment_.turn_on(Records::kGraphs, reason);
    if (!attachment_.turn_on(Records::kKernels, reason)) return false;
    attachment_.turn_on(Records::kCopies, reason);
  }
  for (const std::string& complaint : attachment_.take_complaints()) session_.facts().note(complaint);
  if (is_sliced_) slices_.restart();
  else api_.record();
  state_ = State::kOn;
  next_flush_ns_ = boottime_ns() + flush_period_ns_;
  times_lost_ = coverage_.lost(WAVESCOPE_LOSS_TIMESTAMPS);
  return true;
}

void Collector::try_to_attach(uint64_t now_ns) {
  if (now_ns < attach_after_ns_.load()) return;
  renews_ = false;
  std::string reason;
  if (attach(reason)) {
    if (is_gap_noted_) session_.facts().note("GPU work recorded again from " + since_start(now_ns) + " on");
    is_gap_noted_ = false;
    return;
  }
  attach_after_ns_.store(now_ns + kRetryNs);
  if (!is_gap_noted_) {
    session_.facts().note("GPU work not recorded from " + since_start(now_ns) + " on, because " + reason);
  }
  is_gap_noted_ = true;
}

void Collector::follow_wishes(uint64_t now_ns) {
  const bool wanted = session_.recording() && !is_yielded_.load() && !renews_;
  if (state_ == State::kDetachable && is_detached_.exchange(false)) {
    attachment_.forget();
    state_ = State::kOff;
    renews_ = false;
    return follow_wishes(now_ns);
  }
  if (state_ == State::kOff && wanted) try_to_attach(now_ns);
  else if (state_ == State::kOn && !wanted) stop_recording(now_ns, WAVESCOPE_SKIP_PAUSED);
  else if (state_ == State::kDraining) wanted ? undo_pause() : drain(now_ns);
  else if ((state_ == State::kDetachable || state_ == State::kResting) && wanted) undo_pause();
}

// Recording goes on before CUPTI was let go of.
void Collector::undo_pause() {
  bool wanted = true;
  if (state_ == State::kDetachable && !detach_wanted_.compare_exchange_strong(wanted, false)) return;  // it is going on
  slices_.settle_last(dropped_);
  std::string reason;
  if (turn_on(reason)) return;
  attachment_.let_go();
  state_ = State::kOff;
}

void Collector::stop_recording(uint64_t now_ns, WavescopeSkipReason reason) {
  slices_.close();
  api_.skip(reason);
  if (library_.switches_records()) {
    attachment_.turn_off(Records::kKernels);
    attachment_.turn_off(Records::kCopies);
  }
  state_ = State::kDraining;
  drain_until_ns_ = now_ns + kLongestDrainNs;
  drain(now_ns);
}

void Collector::drain(uint64_t now_ns) {
  if (!flush(0) || coverage_.missing() == 0 || now_ns >= drain_until_ns_) end_drain();
}

void Collector::end_drain() {
  flush(kFlushForced);
  slices_.settle_last(dropped_);
  coverage_.settle(WAVESCOPE_LOSS_PENDING_AT_EXIT);
  if (active_.load()) clocks_.take(decoder_.gpus());
  // Once a program has graphs, its next launch of one after CUPTI was taken out fails (seen with CUPTI 13.0).
  if (api_.saw_graphs()) {
    state_ = State::kResting;
    renews_ = false;
    return;
  }
  state_ = State::kDetachable;
  is_detached_.store(false);
  if (!is_yielded_.load()) detach_wanted_.store(true);
}

void Collector::drain_here(uint64_t limit_ns) {
  drain_until_ns_ = boottime_ns() + limit_ns;
  while (state_ == State::kDraining) {
    drain(boottime_ns());
    if (state_ == State::kDraining) sleep_ns(kMillisecondNs);
  }
}

}  // namespace wavescope::cupti
