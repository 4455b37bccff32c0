// AQL queues on a clock that the test moves: starts, ends, signals, barriers, faults.
#include "softgpu_fixture.h"

using namespace softgpu;

namespace {

void test_dispatches_follow_each_other() {
  Gpu gpu;
  AqlRing ring(gpu);
  uint64_t mailbox = 0;
  Signal first = new_signal(1, &mailbox);
  Signal second = new_signal(1);
  ring.dispatch(&first);
  ring.dispatch(&second);
  const Progress progress = ring.queue.advance();
  CHECK(progress.has_moved && !progress.is_blocked && progress.next_ns == 1'001'000);
  CHECK(ring.read_index == 2 && first.value == 1);
  gpu.clock.now = 1'000'999;
  CHECK(!ring.queue.advance().has_moved);
  gpu.clock.now = 1'001'500;  // a scheduler that comes late does not show in timestamps
  CHECK(ring.queue.advance().next_ns == 1'002'000);
  CHECK(first.value == 0 && second.value == 1 && mailbox == 7);
  CHECK(gpu.interrupts.raised == std::vector<uint32_t>{7});
  CHECK(first.start_ticks == 100'000 && first.end_ticks == 100'100);
  gpu.clock.now = 5'000'000;
  CHECK(ring.queue.advance().next_ns == never_ns);
  CHECK(second.value == 0 && second.start_ticks == 100'100 && second.end_ticks == 100'200);
}

void test_no_timestamps_unless_asked_for() {
  Gpu gpu;
  AqlRing ring(gpu);
  ring.properties = 0;
  Signal signal = new_signal(1);
  ring.dispatch(&signal);
  ring.queue.advance();
  gpu.clock.now += 1000;
  ring.queue.advance();
  CHECK(signal.value == 0 && signal.start_ticks == 0 && signal.end_ticks == 0);
}

void test_barrier_waits_for_all() {
  Gpu gpu;
  AqlRing ring(gpu);
  Signal host = new_signal(1);
  Signal other = new_signal(1);
  Signal done = new_signal(1);
  ring.barrier(PacketType::barrier_and, {&host, nullptr, &other}, &done);
  CHECK(ring.queue.advance().is_blocked && ring.read_index == 0);
  host.value = 0;
  gpu.clock.now = 1'010'000;
  CHECK(ring.queue.advance().is_blocked);
  // The other op ended at 1,012,000 and was completed at 1,013,000; the queue looks at 1,020,000.
  gpu.signal_ends.record(reinterpret_cast<uint64_t>(&other), 1'012'000, 1'013'000);
  other.value = 0;
  gpu.clock.now = 1'020'000;
  CHECK(!ring.queue.advance().is_blocked);
  CHECK(done.value == 0 && done.end_ticks == 101'200);
}

void test_barrier_on_the_host_ends_when_seen() {
  Gpu gpu;
  AqlRing ring(gpu);
  Signal host = new_signal(1);
  Signal done = new_signal(1);
  gpu.signal_ends.record(reinterpret_cast<uint64_t>(&host), 900'000, 900'000);  // of an earlier use
  ring.barrier(PacketType::barrier_or, {&host}, &done);
  CHECK(ring.queue.advance().is_blocked);
  host.value = 0;
  gpu.clock.now = 1'050'000;
  ring.queue.advance();
  CHECK(done.value == 0 && done.start_ticks == 100'000 && done.end_ticks == 105'000);
}

void test_barrier_or_takes_any() {
  Gpu gpu;
  AqlRing ring(gpu);
  Signal open = new_signal(1);
  Signal closed = new_signal(0);
  Signal done = new_signal(3);
  ring.barrier(PacketType::barrier_or, {&open, &closed}, &done);
  ring.barrier(PacketType::barrier_or, {}, &done);
  ring.barrier(PacketType::barrier_and, {}, &done);
  ring.queue.advance();
  CHECK(done.value == 0 && open.value == 1);
}

void test_barrier_value() {
  Gpu gpu;
  AqlRing ring(gpu);
  Signal watched = new_signal(0x1204);
  Signal done = new_signal(1);
  Packet packet{};
  packet.barrier_value.format = vendor_barrier_value;
  packet.barrier_value.signal = reinterpret_cast<uint64_t>(&watched);
  packet.barrier_value.mask = 0xff;
  packet.barrier_value.value = 5;
  packet.barrier_value.comparison = Comparison::greater_or_equal;
  packet.barrier_value.completion_signal = reinterpret_cast<uint64_t>(&done);
  ring.put(PacketType::vendor, packet);
  CHECK(ring.queue.advance().is_blocked);
  watched.value = 0x1005;
  ring.queue.advance();
  CHECK(done.value == 0);
}

void test_doorbell_is_needed_when_strict() {
  Gpu gpu;
  gpu.configuration.pacing.needs_doorbell = true;
  AqlRing ring(gpu);
  Packet packet{};
  ring.put(PacketType::barrier_and, packet, false);
  CHECK(!ring.queue.advance().has_moved);
  ring.doorbell = 0;
  CHECK(ring.queue.advance().has_moved && ring.read_index == 1);
}

void test_bad_packets_stop_the_queue() {
  struct Case {
    PacketType type;
    uint64_t object;
    QueueError error;
  };
  const Case cases[] = {{static_cast<PacketType>(77), 1, QueueError::packet_unsupported},
                        {PacketType::agent_dispatch, 1, QueueError::packet_unsupported},
                        {PacketType::kernel_dispatch, 0, QueueError::code_invalid},
                        {PacketType::kernel_dispatch, 1, QueueError::workgroup_size_invalid}};
  for (const Case& row : cases) {
    Gpu gpu;
    AqlRing ring(gpu);
    Packet packet{};
    packet.dispatch.kernel_object = row.object;
    ring.put(row.type, packet);
    ring.dispatch();
    ring.queue.advance();
    CHECK(ring.error_reason == int64_t{1} << (static_cast<unsigned>(row.error) - 1));
    CHECK(gpu.interrupts.raised == std::vector<uint32_t>{99} && ring.read_index == 0);
    CHECK(!ring.queue.advance().has_moved);
  }
}

void test_ring_wraps_and_refills() {
  Gpu gpu("", 10);
  AqlRing ring(gpu);
  Signal done = new_signal(1000);
  int put = 0;
  while (done.value > 0) {
    while (put < 1000 && ring.write_index - ring.read_index < AqlRing::slots) {
      ring.dispatch(&done);
      ++put;
    }
    ring.queue.advance();
    gpu.clock.now += 37;
  }
  CHECK(ring.read_index == 1000 && done.value == 0);
}

void test_ops_are_taken_a_millisecond_ahead() {
  Gpu gpu("", 400'000);
  AqlRing ring(gpu);
  for (int index = 0; index < 10; ++index) ring.dispatch();
  ring.queue.advance();
  CHECK(ring.read_index == 3);
  gpu.clock.now += 400'000;
  ring.queue.advance();
  CHECK(ring.read_index == 4);
}

void test_only_ends_that_can_be_noticed_are_due() {
  Gpu gpu;
  AqlRing ring(gpu);
  Signal signal = new_signal(1);
  ring.dispatch();
  ring.dispatch();
  ring.dispatch(&signal);
  ring.dispatch();
  CHECK(ring.queue.advance().next_ns == 1'003'000);
  gpu.clock.now = 1'003'000;
  CHECK(ring.queue.advance().next_ns == 1'004'000 && signal.value == 0);
}

void test_suspended_queue_takes_nothing() {
  Gpu gpu;
  AqlRing ring(gpu);
  ring.queue.suspend(true);
  ring.dispatch();
  CHECK(!ring.queue.advance().has_moved);
  ring.queue.suspend(false);
  CHECK(ring.queue.advance().has_moved);
}

void test_contention_lengthens() {
  Gpu gpu;
  gpu.configuration.pacing.contention_percent = 50;
  gpu.late.busy = 2;
  AqlRing ring(gpu);
  ring.dispatch();
  CHECK(ring.queue.advance().next_ns == 1'002'000);
}

// The signal of one dispatch after `at_ns`, under a fault.
Signal dispatched(Gpu& gpu, AqlRing& ring, uint64_t after_ns) {
  static uint64_t mailbox;
  Signal signal = new_signal(1, &mailbox);
  ring.dispatch(&signal);
  ring.queue.advance();
  gpu.clock.now += after_ns;
  ring.queue.advance();
  return signal;
}

void test_timestamp_faults() {
  Gpu lost("lost_timestamps");
  AqlRing lost_ring(lost);
  CHECK(dispatched(lost, lost_ring, 1000).end_ticks == 0);
  Gpu equal("equal_timestamps");
  AqlRing equal_ring(equal);
  const Signal equal_signal = dispatched(equal, equal_ring, 1000);
  CHECK(equal_signal.start_ticks == 100'000 && equal_signal.end_ticks == 100'000);
  Gpu reversed("reversed_timestamps");
  AqlRing reversed_ring(reversed);
  const Signal reversed_signal = dispatched(reversed, reversed_ring, 1000);
  CHECK(reversed_signal.start_ticks == 100'100 && reversed_signal.end_ticks == 100'000);
}

void test_hang() {
  Gpu gpu("hang,ms=1");
  AqlRing ring(gpu);
  CHECK(dispatched(gpu, ring, 1'001'000).end_ticks == 200'100);
  Gpu endless("hang");
  AqlRing endless_ring(endless);
  CHECK(dispatched(endless, endless_ring, 1'000'000'000'000).value == 1);
}

void test_slow_interrupt() {
  Gpu gpu("slow_interrupt,us=30");
  AqlRing ring(gpu);
  CHECK(dispatched(gpu, ring, 1000).value == 0 && gpu.interrupts.raised.empty());
  CHECK(gpu.late.late.size() == 1 && gpu.late.late[0].first == gpu.clock.now + 30'000);
}

void test_failing_kernel() {
  Gpu gpu("fail,after=1");
  AqlRing ring(gpu);
  CHECK(dispatched(gpu, ring, 1000).value == 0);
  CHECK(dispatched(gpu, ring, 1000).value == 1);
  CHECK(ring.error_reason == 1 << 3 && gpu.interrupts.raised.back() == 99);
  CHECK(dispatched(gpu, ring, 1000).value == 1);
}

}  // namespace

int main() {
  test_dispatches_follow_each_other();
  test_no_timestamps_unless_asked_for();
  test_barrier_waits_for_all();
  test_barrier_on_the_host_ends_when_seen();
  test_barrier_or_takes_any();
  test_barrier_value();
  test_doorbell_is_needed_when_strict();
  test_bad_packets_stop_the_queue();
  test_ring_wraps_and_refills();
  test_ops_are_taken_a_millisecond_ahead();
  test_only_ends_that_can_be_noticed_are_due();
  test_suspended_queue_takes_nothing();
  test_contention_lengthens();
  test_timestamp_faults();
  test_hang();
  test_slow_interrupt();
  test_failing_kernel();
  return 0;
}
