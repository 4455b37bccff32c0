// A ring of the collector's before a queue: what the application puts there reaches the ring below in its order and once,
// rung for or not.
#include <signal.h>
#include <sys/mman.h>

#include <memory>
#include <vector>

#include "collector_hsa/doorbell_table.h"
#include "collector_hsa/own_ring.h"
#include "tests/played_queue.h"

namespace {

void pass_announced(OwnRing& ring) {
  while (const Packet* packet = ring.next_announced()) ring.put(*packet, packet->completion_signal);
  ring.ring_doorbell();
}

void pass_all(OwnRing& ring) {
  ring.announce(reserved);
  pass_announced(ring);
}

void packets_pass_in_their_order_and_keep_their_content() {
  new_queue();
  const HsaApi api = plain_api();
  OwnRing ring(api, &queue);
  CHECK(ring.stand_before_queue() && queue.base_address != below && ring.next_announced() == nullptr);
  for (uint32_t round = 0; round < 5 * ring_size; ++round) {
    Packet packet = a_dispatch(round + 1, hsa_signal_t{0x1000 + round});
    packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1 << HSA_PACKET_HEADER_BARRIER | 2 << 9 | 2 << 11;
    packet.setup = 3;
    packet.private_segment_size = 7 * round;
    packet.kernarg_address = &ring;
    submit(packet);
    pass_all(ring);
    CHECK(rung.size() == round + 1 && rung.back() == static_cast<int64_t>(round));
    // The runtime looks at the packet that waits for scratch memory by the queue's address.
    const Packet& kept = *place(round);
    CHECK((kept.header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH && kept.private_segment_size == 7 * round);
    CHECK(kept.grid_size_x == round + 1 && ring.next_announced() == nullptr);
    const Packet passed = consume();
    CHECK(std::memcmp(&passed, &packet, sizeof passed) == 0);
  }
  ring.step_aside();
  CHECK(queue.base_address == below && !ring.stands());
}

// The GPU may read a packet, and the application fill its place again, in the moment in which it is written: the place must
// not be touched after that. Memory that is read-only tells when the first byte is written.
bool was_taken_at_first_write = false;
void* gpus_ring = nullptr;
void on_first_write(int, siginfo_t*, void*) {
  was_taken_at_first_write = (place(0)->header & 0x8000) != 0;
  mprotect(gpus_ring, WAVESCOPE_PAGE_BYTES, PROT_READ | PROT_WRITE);
}

void a_place_is_marked_before_the_gpu_can_read_its_packet() {
  new_queue();
  gpus_ring = mmap(nullptr, WAVESCOPE_PAGE_BYTES, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  CHECK(gpus_ring != MAP_FAILED);
  queue.base_address = gpus_ring;
  const HsaApi api = plain_api();
  OwnRing ring(api, &queue);
  CHECK(ring.stand_before_queue());
  submit(a_dispatch(1));
  struct sigaction action{};
  struct sigaction before{};
  action.sa_sigaction = on_first_write;
  action.sa_flags = SA_SIGINFO;
  sigaction(SIGSEGV, &action, &before);
  pass_all(ring);
  sigaction(SIGSEGV, &before, nullptr);
  CHECK(was_taken_at_first_write && static_cast<Packet*>(gpus_ring)->header == HSA_PACKET_TYPE_KERNEL_DISPATCH);
  ring.step_aside();
  munmap(gpus_ring, WAVESCOPE_PAGE_BYTES);
}

// Thread A has reserved a place and not filled it; B's packets behind it wait, and pass with A's.
void a_packet_that_is_not_valid_yet_holds_back_the_next() {
  new_queue();
  const HsaApi api = plain_api();
  OwnRing ring(api, &queue);
  CHECK(ring.stand_before_queue());
  const uint64_t first = reserved.fetch_add(1);
  submit(a_dispatch(2));
  submit(a_dispatch(3));
  pass_all(ring);
  CHECK(rung.empty());
  fill(first, a_dispatch(1));
  pass_all(ring);
  CHECK((rung == std::vector<int64_t>{2}));
  for (uint32_t grid = 1; grid <= 3; ++grid) CHECK(consume().grid_size_x == grid);
}

// A rings for its packet only after B has rung for a later one; what nobody has rung for stays.
void packets_pass_when_they_are_rung_for() {
  new_queue();
  const HsaApi api = plain_api();
  OwnRing ring(api, &queue);
  CHECK(ring.stand_before_queue());
  for (uint32_t grid = 1; grid <= 4; ++grid) submit(a_dispatch(grid));
  pass_announced(ring);
  CHECK(rung.empty());
  ring.announce(3);
  ring.announce(1);
  pass_announced(ring);
  CHECK((rung == std::vector<int64_t>{2}));
  ring.announce(4);
  pass_announced(ring);
  CHECK((rung == std::vector<int64_t>{2, 3}));
  for (uint32_t grid = 1; grid <= 4; ++grid) CHECK(consume().grid_size_x == grid);
}

// A vendor's packet has the type 0; one with a type that nobody knows is the GPU's to refuse.
void every_kind_but_the_invalid_passes() {
  new_queue();
  const HsaApi api = plain_api();
  OwnRing ring(api, &queue);
  CHECK(ring.stand_before_queue());
  const std::vector<uint16_t> types = {
      HSA_PACKET_TYPE_VENDOR_SPECIFIC, HSA_PACKET_TYPE_BARRIER_AND, 4, HSA_PACKET_TYPE_BARRIER_OR, 9, 255};
  for (const uint16_t type : types) {
    Packet packet = a_dispatch(1);
    packet.header = type;
    submit(packet);
  }
  pass_all(ring);
  for (const uint16_t type : types) CHECK(consume().header == type);
}

void what_nobody_rings_for_is_found() {
  new_queue();
  const HsaApi api = plain_api();
  OwnRing ring(api, &queue);
  CHECK(ring.stand_before_queue());
  CHECK(!ring.announce_what_was_left());
  submit(a_dispatch(1));
  CHECK(!ring.announce_what_was_left());  // it may have been rung for in this moment
  CHECK(ring.announce_what_was_left());
  pass_announced(ring);
  CHECK(!ring.announce_what_was_left() && consume().grid_size_x == 1);
}

// A program may wait until a place that it has reserved is empty, as the GPU leaves it.
void reserved_places_are_emptied() {
  new_queue();
  const HsaApi api = plain_api();
  OwnRing ring(api, &queue);
  CHECK(ring.stand_before_queue());
  for (uint32_t i = 0; i < ring_size; ++i) submit(a_dispatch(i + 1));
  pass_all(ring);
  for (uint32_t i = 0; i < 3; ++i) consume();
  reserved.fetch_add(5);
  CHECK((place(ring_size)->header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH);
  CHECK(!ring.announce_what_was_left());
  for (uint32_t i = 0; i < 3; ++i) CHECK(place(ring_size + i)->header == HSA_PACKET_TYPE_INVALID);
  CHECK((place(ring_size + 3)->header & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH);  // the GPU has not read it
}

void queues_of_odd_kinds_are_left_alone() {
  const HsaApi api = plain_api();
  new_queue();
  queue.size = 48;
  CHECK(!OwnRing(api, &queue).stand_before_queue() && queue.base_address == below);
  new_queue();
  reserved = 1;  // somebody has used it
  CHECK(!OwnRing(api, &queue).stand_before_queue() && queue.base_address == below);
  new_queue();
  queue.base_address = nullptr;
  CHECK(!OwnRing(api, &queue).stand_before_queue() && queue.base_address == nullptr);
}

void doorbells_are_found_until_they_are_removed() {
  auto table = std::make_unique<DoorbellTable>();
  std::vector<amd_signal_t> signals(1000);
  for (amd_signal_t& signal : signals) signal.kind = AMD_SIGNAL_KIND_DOORBELL;
  const auto handle = [&](std::size_t at) { return hsa_signal_t{reinterpret_cast<uint64_t>(&signals[at])}; };
  const auto recorder = [&](std::size_t at) { return reinterpret_cast<QueueRecorder*>(&signals[at]); };
  for (std::size_t at = 0; at < 900; ++at) CHECK(table->add(handle(at), recorder(at)));
  for (std::size_t at = 0; at < 900; at += 2) CHECK(table->remove(handle(at)) == recorder(at));
  for (std::size_t at = 0; at < 1000; ++at)
    CHECK(table->find(handle(at)) == (at < 900 && at % 2 == 1 ? recorder(at) : nullptr));
  CHECK(table->remove(handle(0)) == nullptr);
  CHECK(table->add(handle(0), recorder(5)) && table->find(handle(0)) == recorder(5));
  signals[1].kind = AMD_SIGNAL_KIND_USER;
  CHECK(table->find(handle(1)) == nullptr);
  table->forget_all();
  CHECK(table->find(handle(3)) == nullptr);
}

}  // namespace

int main() {
  packets_pass_in_their_order_and_keep_their_content();
  a_place_is_marked_before_the_gpu_can_read_its_packet();
  a_packet_that_is_not_valid_yet_holds_back_the_next();
  packets_pass_when_they_are_rung_for();
  every_kind_but_the_invalid_passes();
  what_nobody_rings_for_is_found();
  reserved_places_are_emptied();
  queues_of_odd_kinds_are_left_alone();
  doorbells_are_found_until_they_are_removed();
  return 0;
}
