#include "collector_cupti/kernel_texts.h"

#include <cstring>

namespace wavescope::cupti {

KernelTexts::~KernelTexts() {
  for (auto& place : known_) delete place.load();
}

uint64_t KernelTexts::find(const char* name) {
  if (name == nullptr) return 0;
  const auto address = reinterpret_cast<uint64_t>(name);
  std::atomic<const Known*>& place = known_[(address * 0x9e3779b97f4a7c15u) >> 52];
  static_assert(kPlaces == 1 << 12, "the upper twelve bits name a place");
  const Known* known = place.load(std::memory_order_acquire);
  if (known != nullptr && known->address == name && std::strcmp(known->text.c_str(), name) == 0) return known->id;
  const uint64_t id = texts_.intern(name);
  if (known != nullptr || id == 0) return id;
  const auto* made = new Known{name, name, id};
  if (!place.compare_exchange_strong(known, made, std::memory_order_acq_rel)) delete made;
  return id;
}

}  // namespace wavescope::cupti
