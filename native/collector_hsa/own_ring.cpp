#include "collector_hsa/own_ring.h"

#include <sys/mman.h>

#include <algorithm>
#include <mutex>

namespace wavescope {
namespace {

OwnRing::Packet* new_ring(uint64_t packets) {
  void* memory =
      mmap(nullptr, packets * sizeof(OwnRing::Packet), PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return nullptr;
  auto* ring = static_cast<OwnRing::Packet*>(memory);
  for (uint64_t place = 0; place < packets; ++place) ring[place].header = HSA_PACKET_TYPE_INVALID;
  return ring;
}

bool is_power_of_two(uint64_t number) { return number != 0 && (number & (number - 1)) == 0; }

}  // namespace

OwnRing::OwnRing(const HsaApi& api, hsa_queue_t* queue)
    : api_(api),
      queue_(queue),
      ring_(nullptr),
      below_(static_cast<Packet*>(queue->base_address)),
      mask_(uint64_t{queue->size} - 1) {}

OwnRing::~OwnRing() { step_aside(); }

bool OwnRing::stand_before_queue() {
  if (below_ == nullptr || !is_power_of_two(queue_->size) || api_.queue_load_write_index(queue_) != 0) return false;
  ring_ = new_ring(queue_->size);
  if (ring_ == nullptr) return false;
  queue_->base_address = ring_;
  return true;
}

void OwnRing::step_aside() {
  const std::lock_guard<SpinLock> lock(lock_);
  if (ring_ == nullptr) return;
  queue_->base_address = below_;
  munmap(ring_, (mask_ + 1) * sizeof(Packet));
  ring_ = nullptr;
}

bool OwnRing::announce_what_was_left() {
  const uint64_t write_index = api_.queue_load_write_index(queue_);
  if (write_index == next_) return false;
  if (!is_valid(__atomic_load_n(&ring_[next_ & mask_].header, __ATOMIC_ACQUIRE))) {
    empty_reserved_places(write_index);
    return false;
  }
  if (looked_at_ == next_) {
    announce(write_index);
    return true;
  }
  looked_at_ = next_;
  return false;
}

void OwnRing::empty_reserved_places(uint64_t write_index) {
  const uint64_t end = std::min(write_index, api_.queue_load_read_index(queue_) + mask_ + 1);
  for (uint64_t index = next_; index < end; ++index) {
    Packet& packet = ring_[index & mask_];
    uint16_t header = __atomic_load_n(&packet.header, __ATOMIC_RELAXED);
    // The application may be filling the place at this moment.
    if ((header & kTaken) != 0) {
      __atomic_compare_exchange_n(&packet.header, &header, uint16_t{HSA_PACKET_TYPE_INVALID}, false, __ATOMIC_RELAXED,
                                  __ATOMIC_RELAXED);
    }
  }
}

}  // namespace wavescope
