// Which queue a doorbell belongs to, of the queues that have a ring of ours before them. Looked into for every doorbell.
#ifndef WAVESCOPE_COLLECTOR_HSA_DOORBELL_TABLE_H
#define WAVESCOPE_COLLECTOR_HSA_DOORBELL_TABLE_H

#include <atomic>
#include <cstdint>
#include <mutex>

#include "collector_hsa/hsa_abi.h"

namespace wavescope {

class QueueRecorder;

class DoorbellTable {
 public:
  // Doorbells tell by their kind that they are none of the signals that programs make.
  QueueRecorder* find(hsa_signal_t signal) const {
    if (reinterpret_cast<const amd_signal_t*>(signal.handle)->kind >= 0) return nullptr;
    for (uint32_t probe = 0; probe < kProbes; ++probe) {
      const Place& place = places_[place_of(signal.handle, probe)];
      const uint64_t known = place.doorbell.load(std::memory_order_acquire);
      if (known == signal.handle) return place.recorder;
      if (known == kNever) return nullptr;
    }
    return nullptr;
  }

  // False where there is no room.
  bool add(hsa_signal_t doorbell, QueueRecorder* recorder);

  // Its recorder; null for a doorbell that is not known.
  QueueRecorder* remove(hsa_signal_t doorbell);

  // The runtime is gone, or this is a forked child, where no lock can be taken. Nobody looks for a doorbell meanwhile.
  void forget_all();

 private:
  static constexpr uint64_t kNever = 0;
  static constexpr uint64_t kNoMore = 1;  // no signal has that address
  static constexpr uint32_t kBits = 12;
  static constexpr uint32_t kProbes = 16;

  struct Place {
    std::atomic<uint64_t> doorbell{kNever};
    QueueRecorder* recorder = nullptr;
  };

  static uint32_t place_of(uint64_t doorbell, uint32_t probe) {
    const uint64_t hash = (doorbell >> 6) * 0x9E3779B97F4A7C15u;
    return (static_cast<uint32_t>(hash >> (64 - kBits)) + probe) & ((1u << kBits) - 1);
  }

  Place places_[1u << kBits];
  std::mutex mutex_;  // for changes
};

// Of all collectors, as the program may use a queue after the recording has ended.
extern DoorbellTable doorbells;

}  // namespace wavescope

#endif
