#include "collector_cupti/coverage.h"

#include <algorithm>

namespace wavescope::cupti {
namespace {

uint64_t read(const uint64_t& counter) { return __atomic_load_n(&counter, __ATOMIC_RELAXED); }

// As much as there is of it; how much that was.
uint64_t take(uint64_t& counter, uint64_t wanted) {
  uint64_t before = read(counter);
  uint64_t taken = 0;
  do {
    taken = std::min(before, wanted);
  } while (!__atomic_compare_exchange_n(&counter, &before, before - taken, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED));
  return taken;
}

// Negative when more came than was seen: a graph that was launched on one GPU may have kernels on others.
int64_t missing_of(const WavescopeCounterRecord& record) {
  uint64_t known = read(record.timed);
  for (const uint64_t& skipped : record.skipped) known += read(skipped);
  for (const uint64_t& lost : record.lost) known += read(lost);
  return static_cast<int64_t>(read(record.seen) - known);
}

}  // namespace

// Without room in the file it is only counted here, so that what is missing is right all the same.
WavescopeCounterRecord& Coverage::make(uint32_t gpu) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (WavescopeCounterRecord* made = records_[gpu].load(std::memory_order_acquire)) return *made;
  WavescopeCounterRecord* record = session_.new_counter();
  if (record == nullptr) record = new WavescopeCounterRecord{};
  record->gpu = static_cast<uint16_t>(gpu);
  record->queue = WAVESCOPE_ALL_QUEUES;
  publish(record, 1);
  records_[gpu].store(record, std::memory_order_release);
  return *record;
}

void Coverage::take_skipped(uint32_t gpu, WavescopeSkipReason reason, uint64_t kernels) {
  kernels -= take(record_of(gpu).skipped[reason], kernels);
  for (auto& place : records_) {
    if (kernels == 0) return;
    if (WavescopeCounterRecord* record = place.load(std::memory_order_acquire)) {
      kernels -= take(record->skipped[reason], kernels);
    }
  }
}

void Coverage::add_timed_of_skipped(uint32_t gpu, WavescopeSkipReason reason, uint64_t kernels) {
  add_timed(gpu, kernels);
  take_skipped(gpu, reason, kernels);
}

int64_t Coverage::balance() const {
  int64_t missing = 0;
  for (const auto& place : records_) {
    if (const WavescopeCounterRecord* record = place.load(std::memory_order_acquire)) missing += missing_of(*record);
  }
  return missing;
}

uint64_t Coverage::missing() const { return static_cast<uint64_t>(std::max<int64_t>(balance(), 0)); }

uint64_t Coverage::seen() const {
  uint64_t count = 0;
  for (const auto& place : records_) {
    if (const WavescopeCounterRecord* record = place.load(std::memory_order_acquire)) count += read(record->seen);
  }
  return count;
}

uint64_t Coverage::lost(WavescopeLossReason reason) const {
  uint64_t count = 0;
  for (const auto& place : records_) {
    if (const WavescopeCounterRecord* record = place.load(std::memory_order_acquire)) count += read(record->lost[reason]);
  }
  return count;
}

void Coverage::settle(WavescopeLossReason reason) {
  auto left = static_cast<int64_t>(missing());
  for (auto& place : records_) {
    WavescopeCounterRecord* record = place.load(std::memory_order_acquire);
    if (record == nullptr || left == 0) continue;
    const int64_t of_gpu = std::clamp<int64_t>(missing_of(*record), 0, left);
    add(record->lost[reason], static_cast<uint64_t>(of_gpu));
    left -= of_gpu;
  }
}

void Coverage::close(WavescopeLossReason reason) {
  settle(reason);
  int64_t surplus = std::max<int64_t>(-balance(), 0);
  for (auto& place : records_) {
    WavescopeCounterRecord* record = place.load(std::memory_order_acquire);
    if (record == nullptr || surplus == 0) continue;
    const int64_t of_gpu = std::clamp<int64_t>(-missing_of(*record), 0, surplus);
    add(record->seen, static_cast<uint64_t>(of_gpu));
    surplus -= of_gpu;
  }
}

}  // namespace wavescope::cupti
