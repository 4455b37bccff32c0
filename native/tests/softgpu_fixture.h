// A GPU without threads for tests: a clock that stands still until it is moved, and rings in plain memory.
#ifndef WAVESCOPE_TESTS_SOFTGPU_FIXTURE_H
#define WAVESCOPE_TESTS_SOFTGPU_FIXTURE_H

#include <cstring>
#include <memory>
#include <string>
#include <vector>

#include "check.h"
#include "softgpu/aql_queue.h"
#include "softgpu/sdma_queue.h"

namespace softgpu {

class ManualClock final : public Clock {
 public:
  uint64_t now_ns() const override { return now; }
  uint64_t now = 1'000'000;
};

class RecordedInterrupts final : public Interrupts {
 public:
  void raise(uint32_t event_id) override { raised.push_back(event_id); }
  std::vector<uint32_t> raised;
};

class RecordedLateInterrupts final : public LateInterrupts {
 public:
  void raise_at(uint64_t due_ns, uint32_t event_id) override { late.emplace_back(due_ns, event_id); }
  uint32_t busy_queues(uint64_t) const override { return busy; }
  std::vector<std::pair<uint64_t, uint32_t>> late;
  uint32_t busy = 0;
};

struct Gpu {
  explicit Gpu(const std::string& faults = "", uint64_t kernel_ns = 1000) {
    configuration.durations = DurationTable(Duration::constant(kernel_ns));
    CHECK(configuration.faults.add(faults).empty());
  }

  ManualClock clock;
  Configuration configuration;
  Memory memory;
  RecordedInterrupts interrupts;
  RecordedLateInterrupts late;
  SignalEnds signal_ends;
  GpuClock gpu_clock{0, 0, 0, {}};
  KernelTable kernels{0, configuration, memory};
  TruthBuffer truth{nullptr};
  QueueServices services{0, configuration.pacing, clock, gpu_clock, memory, interrupts, kernels, truth, signal_ends, late};
};

struct alignas(64) AqlRing {
  static constexpr uint64_t slots = 64;

  explicit AqlRing(Gpu& gpu)
      : queue(1, gpu.services, {reinterpret_cast<char*>(packets), sizeof packets, &read_index, &write_index, &doorbell},
              &properties, {&error_reason, 99}) {
    for (Packet& packet : packets) packet.dispatch.header = static_cast<uint16_t>(PacketType::invalid);
  }

  void put(PacketType type, Packet packet, bool is_announced = true) {
    packet.dispatch.header = static_cast<uint16_t>(type);
    packets[write_index % slots] = packet;
    if (is_announced) doorbell = write_index;
    ++write_index;
  }

  void dispatch(const Signal* signal = nullptr) {
    Packet packet{};
    packet.dispatch.workgroup_size[0] = packet.dispatch.workgroup_size[1] = packet.dispatch.workgroup_size[2] = 1;
    packet.dispatch.kernel_object = reinterpret_cast<uint64_t>(this);
    packet.dispatch.completion_signal = reinterpret_cast<uint64_t>(signal);
    put(PacketType::kernel_dispatch, packet);
  }

  void barrier(PacketType type, const std::vector<const Signal*>& awaited, const Signal* signal) {
    Packet packet{};
    for (size_t index = 0; index < awaited.size(); ++index) {
      packet.barrier.awaited_signal[index] = reinterpret_cast<uint64_t>(awaited[index]);
    }
    packet.barrier.completion_signal = reinterpret_cast<uint64_t>(signal);
    put(type, packet);
  }

  Packet packets[slots]{};
  uint64_t read_index = 0;
  uint64_t write_index = 0;
  uint64_t doorbell = ~uint64_t{0};
  uint32_t properties = queue_profiling_bit;
  int64_t error_reason = 0;
  AqlQueue queue;
};

inline Signal new_signal(int64_t value, uint64_t* mailbox = nullptr) {
  Signal signal{};
  signal.value = value;
  signal.event_mailbox = reinterpret_cast<uint64_t>(mailbox);
  signal.event_id = 7;
  return signal;
}

}  // namespace softgpu

#endif
