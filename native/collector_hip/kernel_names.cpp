#include "collector_hip/kernel_names.h"

#include <string_view>

#include "collector_hip/real_functions.h"
#include "core/next_symbol.h"
#include "core/session.h"

namespace wavescope::hip {

uint64_t KernelNames::find(const void* address) const {
  for (std::size_t at = first_place(address);; at = (at + 1) % kPlaces) {
    const void* here = places_[at].address.load(std::memory_order_acquire);
    if (here == address) return places_[at].text.load(std::memory_order_relaxed);
    if (here == nullptr) return 0;
  }
}

uint64_t KernelNames::learn_stub(const void* address, void* stream) {
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  static auto* const ask = hip_function<const char*(const void*, void*)>("hipKernelNameRefByPtr");
  return learn(address, ask == nullptr ? nullptr : ask(address, stream), generation);
}

uint64_t KernelNames::learn_function(void* address) {
  const uint64_t generation = generation_.load(std::memory_order_acquire);
  static auto* const ask = hip_function<const char*(const void*)>("hipKernelNameRef");
  return learn(address, ask == nullptr ? nullptr : ask(address), generation);
}

uint64_t KernelNames::learn(const void* address, const char* name, uint64_t generation) {
  Session* session = Session::if_open();
  if (session == nullptr || name == nullptr) return 0;
  const uint64_t text = session->texts().intern(name);
  const std::lock_guard<std::mutex> lock(mutex_);
  if (text == 0 || used_ >= kMostUsed || generation != generation_.load(std::memory_order_relaxed)) return text;
  std::size_t at = first_place(address);
  for (; places_[at].address.load(std::memory_order_relaxed) != nullptr; at = (at + 1) % kPlaces) {
    if (places_[at].address.load(std::memory_order_relaxed) == address) break;
  }
  if (places_[at].address.load(std::memory_order_relaxed) == nullptr) ++used_;
  places_[at].text.store(text, std::memory_order_relaxed);
  places_[at].address.store(address, std::memory_order_release);
  return text;
}

void KernelNames::forget() {
  const std::lock_guard<std::mutex> lock(mutex_);
  generation_.fetch_add(1, std::memory_order_release);
  if (used_ == 0) return;
  used_ = 0;
  for (Place& place : places_) {
    place.text.store(0, std::memory_order_relaxed);
    place.address.store(nullptr, std::memory_order_release);
  }
}

}  // namespace wavescope::hip
