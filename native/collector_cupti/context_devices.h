// Which GPU each context of the driver is on, without a lock.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_CONTEXT_DEVICES_H
#define WAVESCOPE_COLLECTOR_CUPTI_CONTEXT_DEVICES_H

#include <atomic>
#include <cstdint>

#include "collector_cupti/cupti_library.h"

namespace wavescope::cupti {

class ContextDevices {
 public:
  explicit ContextDevices(const CuptiLibrary& library) : library_(library) {}
  ContextDevices(const ContextDevices&) = delete;
  ContextDevices& operator=(const ContextDevices&) = delete;

  // `id` is CUPTI's of the context, which it gives out once. 0, the first GPU, when it cannot be asked.
  uint32_t device_of(CudaContext context, uint32_t id) {
    const uint64_t known = places_[id % kPlaces].load(std::memory_order_relaxed);
    return __builtin_expect(known >> 32 == uint64_t{id} + 1, 1) ? static_cast<uint32_t>(known) : ask(context, id);
  }

 private:
  static constexpr uint32_t kPlaces = 64;

  uint32_t ask(CudaContext context, uint32_t id) {
    uint32_t device = 0;
    if (context == nullptr || library_.get_device_id == nullptr) return 0;
    if (library_.get_device_id(context, &device) != CuptiResult::kSuccess) return 0;
    places_[id % kPlaces].store((uint64_t{id} + 1) << 32 | device, std::memory_order_relaxed);
    return device;
  }

  const CuptiLibrary& library_;
  std::atomic<uint64_t> places_[kPlaces] = {};  // 1 + the context's id, and its GPU
};

}  // namespace wavescope::cupti

#endif
