// One queue as the runtime and the GPU have it, which a test plays: its rings, indices and doorbell.
#pragma once

#include <atomic>
#include <cstring>
#include <vector>

#include "tests/check.h"
#include "tests/played_hsa_runtime.h"

namespace {

constexpr uint32_t kMostSize = 64;

// The queue as the runtime and the GPU have it.
alignas(64) Packet below[kMostSize];
uint32_t ring_size = kMostSize;
hsa_queue_t queue{};
amd_signal_t doorbell{};
std::atomic<uint64_t> reserved{0};
std::atomic<uint64_t> consumed{0};
std::vector<int64_t> rung;  // with the ring's lock

inline uint64_t load_reserved(const hsa_queue_t*) { return reserved.load(); }
inline uint64_t load_consumed(const hsa_queue_t*) { return consumed.load(); }
inline void store(hsa_signal_t signal, hsa_signal_value_t value) {
  if (signal.handle == reinterpret_cast<uint64_t>(&doorbell)) rung.push_back(value);
  else reinterpret_cast<amd_signal_t*>(signal.handle)->value = value;
}

inline void new_queue(uint32_t size = kMostSize) {
  ring_size = size;
  for (Packet& packet : below) {
    packet = Packet{};
    packet.header = HSA_PACKET_TYPE_INVALID;
  }
  doorbell = amd_signal_t{};
  doorbell.kind = AMD_SIGNAL_KIND_DOORBELL;
  queue = hsa_queue_t{};
  queue.base_address = below;
  queue.size = ring_size;
  queue.doorbell_signal.handle = reinterpret_cast<uint64_t>(&doorbell);
  reserved = consumed = 0;
  rung.clear();
}

inline HsaApi plain_api() {
  HsaApi api{};
  api.queue_load_read_index = load_consumed;
  api.queue_load_write_index = load_reserved;
  api.signal_store = store;
  return api;
}

inline Packet* place(uint64_t index) { return static_cast<Packet*>(queue.base_address) + index % ring_size; }

// As programs do: the header last.
inline void fill(uint64_t index, const Packet& packet) {
  std::memcpy(reinterpret_cast<char*>(place(index)) + 2, reinterpret_cast<const char*>(&packet) + 2, sizeof packet - 2);
  __atomic_store_n(&place(index)->header, packet.header, __ATOMIC_RELEASE);
}

inline uint64_t submit(const Packet& packet) {
  const uint64_t index = reserved.fetch_add(1);
  fill(index, packet);
  return index;
}

// What the GPU does with the packet that is next; a copy of it.
inline Packet consume() {
  Packet& packet = below[consumed % ring_size];
  CHECK((packet.header & 0xff) != HSA_PACKET_TYPE_INVALID);
  const Packet taken = packet;
  packet.header = HSA_PACKET_TYPE_INVALID;
  consumed.fetch_add(1);
  return taken;
}

}  // namespace
