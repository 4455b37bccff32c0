#include "softgpu/events.h"

#include <sys/mman.h>

#include <chrono>

#include "softgpu/memory.h"

namespace softgpu {

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
    return event_id;
  }
  return 0;
}

void Events::destroy(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id == 0 || event_id >= limit) return;
  Event& event = events_[event_id];
  event.exists = false;
  if (event.waiting) {  // the driver wakes those who wait for an event that goes away
    ++event.times_woken;
    woken_.notify_all();
  }
}

void Events::set(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id >= limit || !events_[event_id].exists) return;
  Event& event = events_[event_id];
  event.is_signaled = event.is_manual_reset || event.waiting == 0;
  if (event.waiting) {
    ++event.times_woken;
    woken_.notify_all();
  }
}

void Events::reset(uint32_t event_id) {
  const std::lock_guard<std::mutex> guard(mutex_);
  if (event_id < limit) events_[event_id].is_signaled = false;
}

uint64_t Events::mailbox(uint32_t event_id) const {
  return reinterpret_cast<uint64_t>(&mailboxes_[event_id]);
}

bool Events::wait(const std::vector<uint32_t>& event_ids, WaitFor wanted, uint32_t timeout_ms) {
  std::unique_lock<std::mutex> lock(mutex_);
  struct Awaited {
    Event* event;
    uint64_t times_woken;
    bool came;
  };
  std::vector<Awaited> all;
  all.reserve(event_ids.size());
  size_t came = 0;
  for (const uint32_t event_id : event_ids) {
    if (event_id >= limit) return false;
    Event& event = events_[event_id];
    all.push_back({&event, event.times_woken, event.is_signaled});
    came += event.is_signaled;
    if (!event.is_manual_reset) event.is_signaled = false;
  }
  const auto is_met = [&] { return wanted == WaitFor::all ? came == all.size() : came > 0; };
  if (is_met() || timeout_ms == 0) return is_met();

  for (Awaited& awaited : all) ++awaited.event->waiting;
  const auto is_over = [&] {
    for (Awaited& awaited : all) {
      if (awaited.came || awaited.event->times_woken == awaited.times_woken) continue;
      awaited.came = true;
      ++came;
    }
    return is_met();
  };
  if (timeout_ms == forever_ms) {
    woken_.wait(lock, is_over);
  } else {
    woken_.wait_for(lock, std::chrono::milliseconds(timeout_ms), is_over);
  }
  for (Awaited& awaited : all) --awaited.event->waiting;
  return is_met();
}

}  // namespace softgpu
