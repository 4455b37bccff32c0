// A ring of the collector's before a queue: what the application puts there reaches the ring below in its order and once,
// from one thread and from many, rung for or not; and a whole recording that way, under a runtime that the test plays.
#include <signal.h>
#include <sys/mman.h>

#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <string>
#include <thread>
#include <vector>

#include "collector_hsa/doorbell_table.h"
#include "collector_hsa/own_ring.h"
#include "tests/check.h"
#include "tests/played_hsa_runtime.h"

extern "C" bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*);
extern "C" void OnUnload();

// The session is never destroyed.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

constexpr uint32_t kMostSize = 64;
constexpr uint64_t kKernel = 0x4000;

// The queue as the runtime and the GPU have it.
alignas(64) Packet below[kMostSize];
uint32_t ring_size = kMostSize;
hsa_queue_t queue{};
amd_signal_t doorbell{};
std::atomic<uint64_t> reserved{0};
std::atomic<uint64_t> consumed{0};
std::vector<int64_t> rung;  // with the ring's lock

uint64_t load_reserved(const hsa_queue_t*) { return reserved.load(); }
uint64_t load_consumed(const hsa_queue_t*) { return consumed.load(); }
void store(hsa_signal_t signal, hsa_signal_value_t value) {
  if (signal.handle == reinterpret_cast<uint64_t>(&doorbell)) rung.push_back(value);
  else reinterpret_cast<amd_signal_t*>(signal.handle)->value = value;
}
hsa_status_t make_queue(hsa_agent_t, uint32_t size, hsa_queue_type32_t, void (*)(hsa_status_t, hsa_queue_t*, void*), void*,
                        uint32_t, uint32_t, hsa_queue_t** made) {
  CHECK(size == ring_size);
  *made = &queue;
  return HSA_STATUS_SUCCESS;
}

void new_queue(uint32_t size = kMostSize) {
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

HsaApi plain_api() {
  HsaApi api{};
  api.queue_load_read_index = load_consumed;
  api.queue_load_write_index = load_reserved;
  api.signal_store = store;
  return api;
}

Packet* place(uint64_t index) { return static_cast<Packet*>(queue.base_address) + index % ring_size; }

// As programs do: the header last.
void fill(uint64_t index, const Packet& packet) {
  std::memcpy(reinterpret_cast<char*>(place(index)) + 2, reinterpret_cast<const char*>(&packet) + 2, sizeof packet - 2);
  __atomic_store_n(&place(index)->header, packet.header, __ATOMIC_RELEASE);
}

uint64_t submit(const Packet& packet) {
  const uint64_t index = reserved.fetch_add(1);
  fill(index, packet);
  return index;
}

// What the GPU does with the packet that is next; a copy of it.
Packet consume() {
  Packet& packet = below[consumed % ring_size];
  CHECK((packet.header & 0xff) != HSA_PACKET_TYPE_INVALID);
  const Packet taken = packet;
  packet.header = HSA_PACKET_TYPE_INVALID;
  consumed.fetch_add(1);
  return taken;
}

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

std::vector<WavescopeOpRecord> recorded_ops() {
  std::vector<WavescopeOpRecord> found;
  const std::string content = content_of(folder + "/" + Session::if_open()->name() + ".ops");
  for (std::size_t at = WAVESCOPE_PAGE_BYTES; at + sizeof(WavescopeOpRecord) <= content.size();
       at += sizeof(WavescopeOpRecord)) {
    WavescopeOpRecord record;
    std::memcpy(&record, content.data() + at, sizeof record);
    if (record.kind != 0) found.push_back(record);
  }
  return found;
}

hsa_queue_t* begin_recording(uint32_t size = kMostSize) {
  new_queue(size);
  make_tables();
  core.hsa_queue_create_fn = make_queue;
  core.hsa_queue_load_read_index_scacquire_fn = load_consumed;
  core.hsa_queue_load_write_index_scacquire_fn = load_reserved;
  core.hsa_signal_store_relaxed_fn = store;
  core.hsa_signal_store_screlease_fn = store;
  CHECK(OnLoad(&root, 0, 0, nullptr));
  CHECK(core.hsa_signal_store_screlease_fn != store && core.hsa_signal_store_relaxed_fn != store);
  hsa_queue_t* made = nullptr;
  CHECK(core.hsa_queue_create_fn(kGpu, ring_size, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &made) ==
        HSA_STATUS_SUCCESS);
  CHECK(made == &queue && queue.base_address != below);
  return made;
}

// Several threads submit through one queue; a GPU completes what it reads. All of it is recorded once, with its times. In a
// ring of one packet the place is used again at the very moment that the GPU has read it.
void threads_submit_and_all_is_recorded(uint32_t size) {
  constexpr uint32_t kThreads = 4;
  constexpr uint32_t kEach = 2000;
  const std::size_t before = recorded_ops().size();
  hsa_queue_t* made = begin_recording(size);
  std::vector<uint32_t> executed;
  std::thread gpu([&] {
    while (executed.size() < kThreads * kEach) {
      Packet& packet = below[consumed % ring_size];
      const uint16_t header = __atomic_load_n(&packet.header, __ATOMIC_ACQUIRE);
      if ((header & 0xff) == HSA_PACKET_TYPE_INVALID) {
        std::this_thread::yield();
        continue;
      }
      const Packet taken = packet;
      __atomic_store_n(&packet.header, uint16_t{HSA_PACKET_TYPE_INVALID}, __ATOMIC_RELEASE);
      consumed.fetch_add(1);
      executed.push_back(taken.grid_size_x);
      complete(taken, 1000 + executed.size(), 2000 + executed.size());
    }
  });
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([thread] {
      for (uint32_t i = 0; i < kEach; ++i) {
        const uint64_t index = reserved.fetch_add(1);
        while (index - consumed.load() >= ring_size) std::this_thread::yield();
        fill(index, a_dispatch(thread * kEach + i + 1));
        const auto ring = i % 2 == 0 ? core.hsa_signal_store_screlease_fn : core.hsa_signal_store_relaxed_fn;
        ring(queue.doorbell_signal, static_cast<hsa_signal_value_t>(index));
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  gpu.join();
  CHECK(std::is_sorted(rung.begin(), rung.end()) && rung.back() == kThreads * kEach - 1);
  std::vector<WavescopeOpRecord> ops;
  wait_until([&] { return (ops = recorded_ops()).size() == before + kThreads * kEach; });
  ops.erase(ops.begin(), ops.begin() + static_cast<std::ptrdiff_t>(before));
  for (const WavescopeOpRecord& op : ops) {
    CHECK(op.kernel == kKernel && executed[op.start - 1001] == op.grid[0] && op.end - op.start == 1000);
  }
  std::vector<uint32_t> grids;
  for (const WavescopeOpRecord& op : ops) grids.push_back(op.grid[0]);
  std::sort(grids.begin(), grids.end());
  for (uint32_t at = 0; at < grids.size(); ++at) CHECK(grids[at] == at + 1);
  CHECK(core.hsa_queue_destroy_fn(made) == HSA_STATUS_SUCCESS && queue.base_address == below);
  OnUnload();
}

// Signals of the program keep their values; one that several dispatches count down cannot be timed this way.
void signals_of_the_program_stay() {
  const std::size_t before = recorded_ops().size();
  hsa_queue_t* made = begin_recording();
  hsa_signal_t own{};
  hsa_signal_t shared{};
  signal_create(1, 0, nullptr, 0, &own);
  signal_create(2, 0, nullptr, 0, &shared);
  core.hsa_signal_store_relaxed_fn(own, 1);  // no doorbell
  CHECK(rung.empty() && reinterpret_cast<amd_signal_t*>(own.handle)->value == 1);
  for (const hsa_signal_t signal : {own, shared, shared}) submit(a_dispatch(1, signal));
  core.hsa_signal_store_screlease_fn(queue.doorbell_signal, 2);
  CHECK((rung == std::vector<int64_t>{2}));
  for (const hsa_signal_t signal : {own, shared, shared}) {
    const Packet packet = consume();
    CHECK(packet.completion_signal.handle == signal.handle);
    complete(packet, 5000, 6000);
  }
  wait_until([&] { return recorded_ops().size() == before + 1; });
  CHECK(recorded_ops().back().flags == (WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_APP_SIGNAL));
  CHECK(reinterpret_cast<amd_signal_t*>(shared.handle)->value == 0);
  CHECK(core.hsa_queue_destroy_fn(made) == HSA_STATUS_SUCCESS);
  core.hsa_signal_destroy_fn(own);
  core.hsa_signal_destroy_fn(shared);
  OnUnload();
}

// The worker passes on what was never rung for, and says so.
void a_program_that_rings_by_itself_goes_on() {
  hsa_queue_t* made = begin_recording();
  submit(a_dispatch(1));
  wait_until([&] { return __atomic_load_n(&below[0].header, __ATOMIC_ACQUIRE) == HSA_PACKET_TYPE_KERNEL_DISPATCH; });
  complete(consume(), 7000, 8000);
  const std::string facts = folder + "/" + Session::if_open()->name() + ".facts";
  wait_until([&] { return content_of(facts).find("passed on late") != std::string::npos; });
  CHECK(core.hsa_queue_destroy_fn(made) == HSA_STATUS_SUCCESS);
  OnUnload();
}

}  // namespace

int main() {
  char made[] = "/tmp/wavescope-own-ring-XXXXXX";
  folder = mkdtemp(made);
  setenv("WAVESCOPE_OUTPUT", folder.c_str(), 1);
  setenv("WAVESCOPE_INTERCEPTION", "own", 1);
  setenv("WAVESCOPE_SIGNALS", "runtime", 1);
  Session::current();
  packets_pass_in_their_order_and_keep_their_content();
  a_place_is_marked_before_the_gpu_can_read_its_packet();
  a_packet_that_is_not_valid_yet_holds_back_the_next();
  packets_pass_when_they_are_rung_for();
  every_kind_but_the_invalid_passes();
  what_nobody_rings_for_is_found();
  reserved_places_are_emptied();
  queues_of_odd_kinds_are_left_alone();
  doorbells_are_found_until_they_are_removed();
  for (const uint32_t size : {64u, 2u, 1u}) threads_submit_and_all_is_recorded(size);
  signals_of_the_program_stay();
  a_program_that_rings_by_itself_goes_on();
  return std::system(("rm -r " + folder).c_str());
}
