#include "softgpu/events.h"

#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <unordered_map>

#include "softgpu/memory.h"

namespace softgpu {

namespace {

std::atomic<uint64_t> settings{0};
// Numbers of the settings that a thread has seen, by event; they are unique, so that several machines may share it.
thread_local std::unordered_map<uint32_t, uint64_t> seen_by_this_thread;

}  // namespace

Events::Events()
    : events_(limit), mailboxes_(static_cast<uint64_t*>(new_pages(limit * sizeof(uint64_t), false))) {}

Events::~Events() { munmap(mailboxes_, limit * sizeof(uint64_t)); }

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
    event.last_set = is_signaled ? ++settings : 0;
    return event_id;
  }
  return 0;
}

void Events::destroy(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id == 0 || event_id >= limit) return;
  Event& event = events_[event_id];
  event.exists = false;
  event.last_set = ++settings;  // the driver wakes those who wait for an event that goes away
  if (event.waiting) woken_.notify_all();
}

void Events::set(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id >= limit || !events_[event_id].exists) return;
  Event& event = events_[event_id];
  event.is_signaled = true;
  event.last_set = ++settings;
  if (event.waiting) woken_.notify_all();
}

void Events::reset(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id >= limit) return;
  events_[event_id].is_signaled = false;
  events_[event_id].forgotten = events_[event_id].last_set;
}

uint64_t Events::mailbox(uint32_t event_id) const {
  return reinterpret_cast<uint64_t>(&mailboxes_[event_id]);
}

// Whether the event has come about for this thread, which then has seen it.
bool Events::take(uint32_t event_id) {
  const Event& event = events_[event_id];
  uint64_t& seen = seen_by_this_thread[event_id];
  const bool is_new = event.last_set > std::max(seen, event.forgotten);
  seen = std::max(seen, event.last_set);
  return is_new || (event.is_manual_reset && event.is_signaled);
}

bool Events::wait(const std::vector<uint32_t>& event_ids, WaitFor wanted, uint32_t timeout_ms) {
  for (const uint32_t event_id : event_ids) {
    if (event_id >= limit) return false;
  }
  std::unique_lock<std::mutex> lock(mutex_);
  std::vector<bool> came(event_ids.size());
  size_t came_count = 0;
  const auto is_over = [&] {
    for (size_t index = 0; index < event_ids.size(); ++index) {
      if (came[index] || !take(event_ids[index])) continue;
      came[index] = true;
      ++came_count;
    }
    return wanted == WaitFor::all ? came_count == event_ids.size() : came_count > 0;
  };
  if (is_over()) return true;
  if (timeout_ms == 0) return false;

  for (const uint32_t event_id : event_ids) ++events_[event_id].waiting;
  bool has_come = true;
  if (timeout_ms == forever_ms) {
    woken_.wait(lock, is_over);
  } else {
    has_come = woken_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_over);
  }
  for (const uint32_t event_id : event_ids) --events_[event_id].waiting;
  return has_come;
}

}  // namespace softgpu
