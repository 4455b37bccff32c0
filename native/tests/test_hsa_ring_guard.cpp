// The ring below an intercepted queue never runs full, whatever passes and whether or not it is recorded.
#include <unistd.h>

#include <atomic>
#include <cstdlib>
#include <deque>
#include <memory>
#include <mutex>
#include <random>
#include <thread>

#include "collector_hsa/ring_guard.h"
#include "collector_hsa/stalled_queues.h"
#include "tests/played_hsa_runtime.h"

extern "C" bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*);

extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

void pass(RingGuard& guard, const Packet* packets, uint64_t count, uint64_t next_index, RingGuard::Writer writer) {
  guard.set_next_index(next_index);
  guard.pass(packets, count, writer);
}

constexpr uint32_t kSize = 64;

// The ring and the GPU that empties it.
std::mutex ring_mutex;
std::deque<Packet> ring;
uint64_t written = 0;   // the test's packets
uint64_t added = 0;     // barriers of the guard
std::size_t most_in_ring = 0;
std::atomic<bool> may_run{false};

std::size_t packets_in_ring() {
  const std::lock_guard<std::mutex> lock(ring_mutex);
  return ring.size();
}

void write(const void* passed, uint64_t count) {
  const std::lock_guard<std::mutex> lock(ring_mutex);
  const auto* packets = static_cast<const Packet*>(passed);
  for (uint64_t at = 0; at < count; ++at) {
    ring.push_back(packets[at]);
    ++(packets[at].header == HSA_PACKET_TYPE_BARRIER_AND && packets[at].kernel_object == 0 ? added : written);
  }
  most_in_ring = std::max(most_in_ring, ring.size());
}

void run_gpu(const std::atomic<bool>& is_over) {
  while (!is_over || packets_in_ring() != 0) {
    Packet packet{};
    {
      const std::lock_guard<std::mutex> lock(ring_mutex);
      if (may_run && !ring.empty()) {
        packet = ring.front();
        ring.pop_front();
      }
    }
    if (packet.completion_signal.handle != 0) complete(packet, 1, 2);
    std::this_thread::yield();
  }
}

// Lets `submit` run against the GPU, which begins when there are so many packets in the ring.
template <typename Submit>
void against_the_gpu(std::size_t first, Submit submit) {
  ring.clear();
  written = added = most_in_ring = 0;
  may_run = false;
  std::atomic<bool> is_over{false};
  std::thread gpu([&] { run_gpu(is_over); });
  std::thread starter([&] {
    wait_until([&] { return packets_in_ring() >= first; });
    may_run = true;
  });
  submit();
  starter.join();
  is_over = true;
  gpu.join();
}

struct Queue {
  Queue() { make_tables(), queue.size = kSize; }
  hsa_queue_t queue{};
  HsaApi api = [] {
    HsaApi made{};
    made.signal_create = signal_create;
    made.signal_destroy = signal_destroy;
    made.queue_load_write_index = load_write_index;
    return made;
  }();
};

Packet a_packet(bool has_signal) {
  hsa_signal_t signal{};
  if (has_signal) signal_create(1, 0, nullptr, 0, &signal);
  return a_dispatch(1, signal);
}

void a_ring_is_never_full(bool has_signals) {
  write_index = UINT64_MAX;  // more packets follow: none may be set aside
  Queue queue;
  RingGuard guard(queue.api, &queue.queue, WhenFull::kStops);
  against_the_gpu(kSize - 2, [&] {
    for (uint64_t i = 0; i < 2000; ++i) {
      const Packet packet = a_packet(has_signals);
      pass(guard, &packet, 1, i + 1, write);
    }
  });
  CHECK(written == 2000 && most_in_ring < kSize);
  // Only what has a signal needs a packet more, and that rarely.
  CHECK(has_signals ? added > 0 && added <= 2000 / (kSize / 8 - 1) : added == 0);
  guard.give_back_signals();
}

void batches_of_any_size_pass() {
  write_index = UINT64_MAX;
  Queue queue;
  RingGuard guard(queue.api, &queue.queue, WhenFull::kStops);
  std::minstd_rand chance(7);
  uint64_t sent = 0;
  against_the_gpu(kSize / 2, [&] {
    while (sent < 5000) {
      std::vector<Packet> batch(1 + chance() % (kSize / 2 - 4));
      for (Packet& packet : batch) packet = a_packet(chance() % 2 == 0);
      sent += batch.size();
      pass(guard, batch.data(), batch.size(), sent, write);
    }
  });
  CHECK(written == sent && most_in_ring < kSize);
  // One that never fits passes as it is, once the ring is as empty as can be known: the runtime passes it on in parts.
  may_run = true;
  std::atomic<bool> is_over{false};
  std::thread gpu([&] { run_gpu(is_over); });
  const std::vector<Packet> whole(kSize, a_packet(true));
  pass(guard, whole.data(), whole.size(), sent + kSize, [](const void*, uint64_t count) { CHECK(count == kSize); });
  is_over = true;
  gpu.join();
  guard.give_back_signals();
}

std::vector<uint64_t> calls;  // packets of each
std::atomic<uint64_t> read_index{0};

// A runtime that takes more than one call gets as many packets at a time as there is room for, however many came at once.
void a_batch_goes_on_in_parts(WhenFull when_full) {
  write_index = UINT64_MAX;
  Queue queue;
  RingGuard guard(queue.api, &queue.queue, when_full);
  against_the_gpu(kSize / 2, [&] {
    for (uint64_t batch = 0; batch < 20; ++batch) {
      std::vector<Packet> whole(kSize);
      for (Packet& packet : whole) packet = a_packet(batch % 2 == 0);
      pass(guard, whole.data(), whole.size(), (batch + 1) * kSize, write);
    }
  });
  CHECK(written == 20 * kSize && most_in_ring < kSize);
  guard.give_back_signals();
}

// A GPU that does nothing: what has no room comes with one call, the last.
void what_is_set_aside_comes_at_once() {
  write_index = UINT64_MAX;
  Queue queue;
  RingGuard guard(queue.api, &queue.queue, WhenFull::kStagesFew);
  ring.clear();
  calls.clear();
  const auto note = [](const void* packets, uint64_t count) { calls.push_back(count), write(packets, count); };
  const std::vector<Packet> few(kSize / 2, a_packet(false));
  const std::vector<Packet> most(kSize - 1, a_packet(false));
  pass(guard, few.data(), few.size(), few.size(), note);
  CHECK((calls == std::vector<uint64_t>(4, kSize / 8)));
  calls.clear();
  pass(guard, most.data(), most.size(), few.size() + most.size(), note);
  CHECK((calls == std::vector<uint64_t>{8, 8, 8, kSize - 1 - 3 * 8}));
  guard.give_back_signals();
}

// Behind packets that were set aside others wait at the doorbell, so that the runtime never finds too many.
void a_stalled_queue_is_waited_for() {
  Queue queue;
  queue.queue.doorbell_signal.handle = 4711;
  queue.api.queue_load_read_index = [](const hsa_queue_t*) { return read_index.load(); };
  RingGuard guard(queue.api, &queue.queue, WhenFull::kStagesFew);
  ring.clear();
  const std::vector<Packet> most(kSize - 1, a_packet(false));
  pass(guard, most.data(), most.size(), most.size(), write);
  CHECK(!stalled_queues.any());
  pass(guard, most.data(), most.size(), 2 * most.size(), write);
  CHECK(stalled_queues.any());
  write_index = StalledQueues::kMostWaiting;
  stalled_queues.wait_for_room(hsa_signal_t{4711}, queue.api);  // few wait
  write_index = StalledQueues::kMostWaiting + 1;
  stalled_queues.wait_for_room(hsa_signal_t{4712}, queue.api);  // another signal
  std::atomic<bool> has_rung{false};
  std::thread submitting([&] {
    stalled_queues.wait_for_room(hsa_signal_t{4711}, queue.api);
    has_rung = true;
  });
  usleep(20000);
  CHECK(!has_rung);
  read_index = 1;
  submitting.join();
  CHECK(has_rung);
  guard.give_back_signals();
  CHECK(!stalled_queues.any());
  read_index = 0;
}

// Another thread may destroy it: only its own doorbell leads to it.
void other_signals_do_not_lead_to_a_stalled_queue() {
  Queue playing;
  auto queue = std::make_unique<hsa_queue_t>();
  const hsa_queue_t* const address = queue.get();
  queue->doorbell_signal.handle = 4711;
  stalled_queues.add(address);
  queue.reset();
  stalled_queues.wait_for_room(hsa_signal_t{4712}, playing.api);
  CHECK(stalled_queues.any());
  stalled_queues.remove(address);
  CHECK(!stalled_queues.any());
}

// The last packet that was announced is the runtime's to set aside, and in newer ones all are, so that a thread never waits
// for itself for long.
void what_can_be_set_aside_passes(bool is_last, WhenFull when_full) {
  Queue queue;
  RingGuard guard(queue.api, &queue.queue, when_full);
  ring.clear();
  written = 0;
  for (uint64_t i = 0; i < 3 * kSize; ++i) {
    const Packet packet = a_packet(true);
    write_index = is_last ? i + 1 : UINT64_MAX;
    pass(guard, &packet, 1, i + 1, write);
  }
  CHECK(written == 3 * kSize);
  guard.give_back_signals();
}

void packets_of_unknown_kinds_are_not_touched() {
  write_index = UINT64_MAX;
  Queue queue;
  RingGuard guard(queue.api, &queue.queue, WhenFull::kStops);
  ring.clear();
  written = added = 0;
  Packet packet{};
  packet.header = HSA_PACKET_TYPE_VENDOR_SPECIFIC;
  for (uint64_t i = 0; i < kSize / 2; ++i) pass(guard, &packet, 1, i + 1, write);
  CHECK(written == kSize / 2 && added > 0);
  for (const Packet& passed : ring) {
    CHECK((passed.header == HSA_PACKET_TYPE_VENDOR_SPECIFIC) == (passed.completion_signal.handle == 0));
  }
  guard.give_back_signals();
}

void without_signals_packets_pass_untouched() {
  Queue queue;
  queue.api.signal_create = [](hsa_signal_value_t, uint32_t, const hsa_agent_t*, uint64_t, hsa_signal_t*) {
    return HSA_STATUS_ERROR_OUT_OF_RESOURCES;
  };
  RingGuard guard(queue.api, &queue.queue, WhenFull::kStops);
  ring.clear();
  for (uint64_t i = 0; i < 3 * kSize; ++i) {
    const Packet packet = a_packet(false);
    pass(guard, &packet, 1, i + 1, write);
    CHECK(ring.back().completion_signal.handle == 0);
  }
}

void submit_through_the_collector(uint64_t count) {
  against_the_gpu(kSize - 2, [&] {
    for (uint64_t i = 0; i < count; ++i) {
      const Packet packet = a_dispatch(1);
      handler(&packet, 1, i, handler_data, write);
    }
  });
  CHECK(written == count && added == 0 && most_in_ring < kSize);
}

// Paused from the start; then batches, which lite mode does not time; then after the end of the recording.
void it_holds_without_recording() {
  make_tables();
  write_index = UINT64_MAX;
  CHECK(OnLoad(&root, 0, 0, nullptr));
  hsa_queue_t* queue = nullptr;
  CHECK(core.hsa_queue_create_fn(kGpu, kSize, HSA_QUEUE_TYPE_MULTI, nullptr, nullptr, 0, 0, &queue) == HSA_STATUS_SUCCESS);
  submit_through_the_collector(1000);
  Session::if_open()->control().resume();
  against_the_gpu(kSize - 2, [&] {
    for (uint64_t i = 0; i < 500; ++i) {
      const std::vector<Packet> batch{a_dispatch(1), a_dispatch(2)};
      handler(batch.data(), 2, 2 * i, handler_data, write);
    }
  });
  CHECK(written == 1000 && added == 0 && most_in_ring < kSize);
  Session::finish("exit");
  submit_through_the_collector(1000);
}

}  // namespace

int main() {
  a_ring_is_never_full(false);
  a_ring_is_never_full(true);
  batches_of_any_size_pass();
  a_batch_goes_on_in_parts(WhenFull::kSetsAside);
  a_batch_goes_on_in_parts(WhenFull::kStagesFew);
  what_is_set_aside_comes_at_once();
  a_stalled_queue_is_waited_for();
  other_signals_do_not_lead_to_a_stalled_queue();
  what_can_be_set_aside_passes(true, WhenFull::kStops);
  what_can_be_set_aside_passes(false, WhenFull::kSetsAside);
  what_can_be_set_aside_passes(false, WhenFull::kStagesFew);
  packets_of_unknown_kinds_are_not_touched();
  without_signals_packets_pass_untouched();
  char pattern[] = "/tmp/wavescope-ring-XXXXXX";
  folder = mkdtemp(pattern);
  setenv("WAVESCOPE_OUTPUT", folder.c_str(), 1);
  setenv("WAVESCOPE_START_PAUSED", "1", 1);
  setenv("WAVESCOPE_MODE", "lite", 1);
  it_holds_without_recording();
  return std::system(("rm -r " + folder).c_str());
}
