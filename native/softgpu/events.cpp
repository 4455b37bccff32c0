#include "softgpu/events.h"

#include <pthread.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <unordered_map>

namespace softgpu {

namespace {

std::atomic<uint64_t> settings{0};
// Numbers of the settings that a thread has seen, by event; they are unique, so that several machines may share it.
using SeenSettings = std::unordered_map<uint32_t, uint64_t>;

// Not a thread's own object: runtimes wait for events in exit handlers, after the main thread's objects are destroyed.
SeenSettings& seen_by_this_thread() {
  static const pthread_key_t key = [] {
    pthread_key_t created{};
    pthread_key_create(&created, [](void* seen) { delete static_cast<SeenSettings*>(seen); });
    return created;
  }();
  auto* seen = static_cast<SeenSettings*>(pthread_getspecific(key));
  if (!seen) {
    seen = new SeenSettings;
    pthread_setspecific(key, seen);
  }
  return *seen;
}

}  // namespace

Events::Events() : events_(limit) {}

uint32_t Events::create(bool is_manual_reset, bool is_signaled) {
  const std::lock_guard<std::mutex> guard(mutex_);
  for (uint32_t tried = 1; tried < limit; ++tried) {
    const uint32_t event_id = next_;
    next_ = next_ + 1 < limit ? next_ + 1 : 1;
    Event& event = events_[event_id];
    if (event.exists || event.waiting) continue;
    event.exists = true;
    event.is_manual_reset = is_manual_reset;
    event.is_signaled = is_signaled;
    event.forgotten = settings.load(std::memory_order_relaxed);
    event.last_set = 0;
    event.age = 1;
    if (is_signaled) set_locked(event);
    return event_id;
  }
  return 0;
}

void Events::destroy(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id == 0 || event_id >= limit) return;
  Event& event = events_[event_id];
  event.exists = false;
  set_locked(event);  // the driver wakes those who wait for an event that goes away
}

void Events::set(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id >= limit || !events_[event_id].exists) return;
  set_locked(events_[event_id]);
}

void Events::set_locked(Event& event) {
  event.is_signaled = true;
  event.last_set = ++settings;
  ++event.age;
  if (event.waiting) woken_.notify_all();
}

void Events::reset(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id >= limit) return;
  events_[event_id].is_signaled = false;
  events_[event_id].forgotten = events_[event_id].last_set;
}

// Whether the event has come about for this thread, which then has seen it.
bool Events::take(uint32_t event_id) {
  const Event& event = events_[event_id];
  uint64_t& seen = seen_by_this_thread()[event_id];
  const bool is_new = event.last_set > std::max(seen, event.forgotten);
  seen = std::max(seen, event.last_set);
  return is_new || (event.is_manual_reset && event.is_signaled);
}

bool Events::has_come(const AwaitedEvent& awaited) {
  if (!awaited.seen_age) return take(awaited.id);
  const Event& event = events_[awaited.id];
  return event.age != awaited.seen_age || (event.is_manual_reset && event.is_signaled);
}

void Events::report_ages(std::vector<AwaitedEvent>& awaited) const {
  for (AwaitedEvent& event : awaited) {
    if (event.seen_age) event.seen_age = events_[event.id].age;
  }
}

bool Events::wait(std::vector<AwaitedEvent>& awaited, WaitFor wanted, uint32_t timeout_ms) {
  for (const AwaitedEvent& event : awaited) {
    if (event.id >= limit) return false;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  std::vector<bool> came(awaited.size());
  size_t came_count = 0;
  const auto is_over = [&] {
    for (size_t index = 0; index < awaited.size(); ++index) {
      if (came[index] || !has_come(awaited[index])) continue;
      came[index] = true;
      ++came_count;
    }
    return wanted == WaitFor::all ? came_count == awaited.size() : came_count > 0;
  };
  bool is_enough = is_over();
  if (!is_enough && timeout_ms != 0) {
    for (const AwaitedEvent& event : awaited) ++events_[event.id].waiting;
    if (timeout_ms == forever_ms) {
      woken_.wait(lock, is_over);
      is_enough = true;
    } else {
      is_enough = woken_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_over);
    }
    for (const AwaitedEvent& event : awaited) --events_[event.id].waiting;
  }
  report_ages(awaited);
  return is_enough;
}

}  // namespace softgpu
