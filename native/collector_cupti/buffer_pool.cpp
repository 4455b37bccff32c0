#include "collector_cupti/buffer_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

namespace wavescope::cupti {
namespace {

// CUPTI may have begun a record behind the last one that it counts.
constexpr std::size_t kBeyondUsed = 64 << 10;

}  // namespace

BufferPool::BufferPool(std::size_t buffer_bytes, uint32_t most_buffers)
    : buffer_bytes_(buffer_bytes), most_buffers_(most_buffers), slots_(new Slot[most_buffers]) {}

BufferPool::~BufferPool() {
  for (uint32_t at = 0; at < most_buffers_; ++at) {
    if (uint8_t* memory = slots_[at].memory.load()) munmap(memory, buffer_bytes_);
  }
}

bool BufferPool::make(Slot& slot, bool touched, State then) {
  State absent = State::kAbsent;
  if (!slot.state.compare_exchange_strong(absent, State::kMaking)) return false;
  const int flags = MAP_PRIVATE | MAP_ANONYMOUS | (touched ? MAP_POPULATE : 0);
  void* memory = mmap(nullptr, buffer_bytes_, PROT_READ | PROT_WRITE, flags, -1, 0);
  if (memory == MAP_FAILED) {
    slot.state.store(State::kAbsent);
    return false;
  }
  slot.memory.store(static_cast<uint8_t*>(memory));
  made_.fetch_add(1, std::memory_order_relaxed);
  slot.state.store(then, std::memory_order_release);
  return true;
}

uint8_t* BufferPool::take() {
  for (uint32_t at = 0; at < most_buffers_; ++at) {
    State ready = State::kReady;
    if (slots_[at].state.compare_exchange_strong(ready, State::kInUse)) return slots_[at].memory.load();
  }
  // The worker was not fast enough: memory that is touched page by page, as it is filled.
  for (uint32_t at = 0; at < most_buffers_; ++at) {
    if (make(slots_[at], false, State::kInUse)) return slots_[at].memory.load();
  }
  refused_.fetch_add(1, std::memory_order_relaxed);
  return nullptr;
}

bool BufferPool::owns(const uint8_t* buffer) const {
  const auto is_it = [&](const Slot& slot) { return slot.memory.load(std::memory_order_acquire) == buffer; };
  return buffer != nullptr && std::any_of(slots_.get(), slots_.get() + most_buffers_, is_it);
}

void BufferPool::give_back(uint8_t* buffer, std::size_t used_bytes) {
  for (uint32_t at = 0; at < most_buffers_; ++at) {
    Slot& slot = slots_[at];
    if (slot.memory.load(std::memory_order_relaxed) != buffer || slot.state.load() != State::kInUse) continue;
    slot.used_bytes = std::min(used_bytes, buffer_bytes_);
    slot.state.store(State::kUsed, std::memory_order_release);
    return;
  }
}

void BufferPool::refill(uint32_t spare) {
  for (uint32_t at = 0; at < most_buffers_; ++at) {
    Slot& slot = slots_[at];
    if (slot.state.load(std::memory_order_acquire) != State::kUsed) continue;
    std::memset(slot.memory.load(), 0, std::min(slot.used_bytes + kBeyondUsed, buffer_bytes_));
    slot.state.store(State::kReady, std::memory_order_release);
  }
  uint32_t there = ready();
  for (uint32_t at = 0; at < most_buffers_ && there < spare; ++at) there += make(slots_[at], true, State::kReady) ? 1 : 0;
}

uint32_t BufferPool::ready() const {
  uint32_t count = 0;
  for (uint32_t at = 0; at < most_buffers_; ++at) count += slots_[at].state.load() == State::kReady ? 1 : 0;
  return count;
}

}  // namespace wavescope::cupti
