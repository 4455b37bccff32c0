// The engine with its threads: several GPUs, queues that come and go, work that crosses GPUs.
#include <chrono>
#include <thread>

#include "softgpu/engine.h"
#include "softgpu_fixture.h"

using namespace softgpu;

namespace {

bool becomes_zero(const Signal& signal) {
  for (int tries = 0; tries < 240'000; ++tries) {
    if (__atomic_load_n(&signal.value, __ATOMIC_ACQUIRE) == 0) return true;
    std::this_thread::sleep_for(std::chrono::microseconds(500));
  }
  return false;
}

struct Machine {
  explicit Machine(uint32_t gpu_count, uint64_t kernel_ns = 1000) {
    configuration.gpu_count = gpu_count;
    configuration.durations = DurationTable(Duration::constant(kernel_ns));
    engine = std::make_unique<Engine>(configuration, clock, memory, events);
  }

  Configuration configuration;
  SystemClock clock;
  Memory memory;
  Events events;
  std::unique_ptr<Engine> engine;
};

// A ring that a thread of its own may fill.
struct SharedRing {
  SharedRing() {
    for (Packet& packet : packets) packet.dispatch.header = static_cast<uint16_t>(PacketType::invalid);
  }

  void put(PacketType type, Packet packet) {
    const uint64_t index = __atomic_fetch_add(&write_index, 1, __ATOMIC_ACQ_REL);
    while (index - __atomic_load_n(&read_index, __ATOMIC_ACQUIRE) >= 64) std::this_thread::yield();
    Packet& slot = packets[index % 64];
    packet.dispatch.header = static_cast<uint16_t>(PacketType::invalid);
    std::memcpy(reinterpret_cast<char*>(&slot) + 2, reinterpret_cast<char*>(&packet) + 2, sizeof packet - 2);
    __atomic_store_n(&slot.dispatch.header, static_cast<uint16_t>(type), __ATOMIC_RELEASE);
    __atomic_store_n(&doorbell, index, __ATOMIC_RELEASE);
  }

  void dispatch(Signal& signal) {
    Packet packet{};
    packet.dispatch.workgroup_size[0] = packet.dispatch.workgroup_size[1] = packet.dispatch.workgroup_size[2] = 1;
    packet.dispatch.kernel_object = 64;
    packet.dispatch.completion_signal = reinterpret_cast<uint64_t>(&signal);
    put(PacketType::kernel_dispatch, packet);
  }

  QueueMemory memory() { return {reinterpret_cast<char*>(packets), sizeof packets, &read_index, &write_index, &doorbell}; }

  alignas(64) Packet packets[64];
  uint64_t read_index = 0;
  uint64_t write_index = 0;
  uint64_t doorbell = ~uint64_t{0};
  uint32_t properties = queue_profiling_bit;
};

void test_producers_share_a_queue() {
  Machine machine(1, 0);
  SharedRing ring;
  machine.engine->device(0).add_aql_queue(1, ring.memory(), &ring.properties, {});
  Signal done = new_signal(4 * 2000);
  std::vector<std::thread> producers;
  for (int index = 0; index < 4; ++index) {
    producers.emplace_back([&] {
      for (int packet = 0; packet < 2000; ++packet) ring.dispatch(done);
    });
  }
  for (std::thread& producer : producers) producer.join();
  CHECK(becomes_zero(done));
  CHECK(machine.engine->device(0).remove_queue(1) && !machine.engine->device(0).remove_queue(1));
}

void test_one_gpu_waits_for_another() {
  Machine machine(2, 200'000);
  SharedRing rings[2];
  for (uint32_t gpu = 0; gpu < 2; ++gpu) {
    machine.engine->device(gpu).add_aql_queue(gpu + 1, rings[gpu].memory(), &rings[gpu].properties, {});
  }
  Signal first = new_signal(1);
  Signal second = new_signal(1);
  Packet barrier{};
  barrier.barrier.awaited_signal[0] = reinterpret_cast<uint64_t>(&first);
  rings[1].put(PacketType::barrier_and, barrier);
  rings[1].dispatch(second);
  std::this_thread::sleep_for(std::chrono::milliseconds(3));
  CHECK(second.value == 1);
  rings[0].dispatch(first);
  CHECK(becomes_zero(first) && becomes_zero(second));
  // Counters of GPUs differ in their epoch; in host time the second starts exactly when the first has ended.
  const uint64_t first_end = first.end_ticks - machine.engine->device(0).gpu_clock().ticks(0);
  const uint64_t second_start = second.start_ticks - machine.engine->device(1).gpu_clock().ticks(0);
  CHECK(second_start >= first_end - 1 && second.end_ticks - second.start_ticks == 20'000);
}

void test_queues_come_and_go_under_load() {
  Machine machine(2, 100);
  SharedRing busy;
  machine.engine->device(0).add_aql_queue(1, busy.memory(), &busy.properties, {});
  Signal done = new_signal(30'000);
  std::thread producer([&] {
    for (int packet = 0; packet < 30'000; ++packet) busy.dispatch(done);
  });
  for (uint64_t id = 2; id < 102; ++id) {
    SharedRing ring;
    Signal signal = new_signal(1);
    Device& device = machine.engine->device(id % 2);
    device.add_aql_queue(id, ring.memory(), &ring.properties, {});
    ring.dispatch(signal);
    machine.engine->host_waits();
    CHECK(becomes_zero(signal));
    CHECK(device.remove_queue(id));
  }
  producer.join();
  CHECK(becomes_zero(done));
}

void test_suspension() {
  Machine machine(1);
  SharedRing ring;
  Device& device = machine.engine->device(0);
  device.add_aql_queue(1, ring.memory(), &ring.properties, {});
  CHECK(device.suspend_queue(1, true) && !device.suspend_queue(2, true));
  Signal signal = new_signal(1);
  ring.dispatch(signal);
  std::this_thread::sleep_for(std::chrono::milliseconds(5));
  CHECK(signal.value == 1);
  CHECK(device.suspend_queue(1, false) && becomes_zero(signal));
}

}  // namespace

int main() {
  test_producers_share_a_queue();
  test_one_gpu_waits_for_another();
  test_queues_come_and_go_under_load();
  test_suspension();
  return 0;
}
