#include "collector_hsa/doorbell_table.h"

namespace wavescope {

DoorbellTable doorbells;

bool DoorbellTable::add(hsa_signal_t doorbell, QueueRecorder* recorder) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    Place& place = places_[place_of(doorbell.handle, probe)];
    const uint64_t known = place.doorbell.load(std::memory_order_relaxed);
    if (known != kNever && known != kNoMore) continue;
    place.recorder = recorder;
    place.doorbell.store(doorbell.handle, std::memory_order_release);
    return true;
  }
  return false;
}

QueueRecorder* DoorbellTable::remove(hsa_signal_t doorbell) {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t probe = 0; probe < kProbes; ++probe) {
    Place& place = places_[place_of(doorbell.handle, probe)];
    if (place.doorbell.load(std::memory_order_relaxed) != doorbell.handle) continue;
    place.doorbell.store(kNoMore, std::memory_order_relaxed);
    return place.recorder;
  }
  return nullptr;
}

void DoorbellTable::forget_all() {
  for (Place& place : places_) place.doorbell.store(kNever, std::memory_order_relaxed);
}

}  // namespace wavescope
