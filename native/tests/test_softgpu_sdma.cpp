// SDMA queues: copies, fills, fences, polls and timestamps, on a clock that the test moves.
#include <initializer_list>

#include "softgpu_fixture.h"

using namespace softgpu;

namespace {

uint32_t low(const void* address) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address)); }
uint32_t high(const void* address) { return static_cast<uint32_t>(reinterpret_cast<uintptr_t>(address) >> 32); }

struct SdmaRing {
  explicit SdmaRing(Gpu& gpu)
      : words(1024),
        queue(1, gpu.services,
              {reinterpret_cast<char*>(words.data()), words.size() * 4, &read_index, &write_index, &doorbell}) {}

  void put(std::initializer_list<uint32_t> packet) {
    for (const uint32_t word : packet) {
      words[write_index / 4 % words.size()] = word;
      write_index += 4;
    }
  }
  void copy(const void* source, void* target, uint32_t bytes) {
    put({1, bytes - 1, 0, low(source), high(source), low(target), high(target)});
  }
  void decrement(Signal* signal) { put({10, low(&signal->value), high(&signal->value), 0xffffffff, 0xffffffff, 0, 0, 0}); }
  void stamp(uint64_t* target) { put({13 | 2U << 8, low(target), high(target)}); }

  std::vector<uint32_t> words;
  uint64_t read_index = 0;
  uint64_t write_index = 0;
  uint64_t doorbell = 0;
  SdmaQueue queue;
};

void test_copy_with_timestamps() {
  Gpu gpu;
  SdmaRing ring(gpu);
  std::vector<char> source(64'000, 'x');
  std::vector<char> target(64'000);
  Signal signal = new_signal(1);
  uint64_t end_ticks = 0;
  ring.stamp(&signal.start_ticks);
  ring.copy(source.data(), target.data(), 32'000);
  ring.copy(source.data() + 32'000, target.data() + 32'000, 32'000);
  ring.stamp(&end_ticks);
  ring.copy(&end_ticks, &signal.end_ticks, 8);
  ring.decrement(&signal);
  const Progress progress = ring.queue.advance();
  // 1,000 ns to get going, then 32 bytes per ns.
  CHECK(progress.next_ns == 1'000'000 + 1000 + 2000 && signal.value == 1);
  gpu.clock.now = progress.next_ns;
  ring.queue.advance();
  CHECK(signal.value == 0 && source == target && ring.read_index == ring.write_index);
  CHECK(signal.start_ticks == 100'000 && signal.end_ticks == 100'300);
}

void test_window_copy() {
  Gpu gpu;
  SdmaRing ring(gpu);
  uint32_t source[16];
  uint32_t target[25]{};
  for (uint32_t index = 0; index < 16; ++index) source[index] = index;
  // 2 x 3 elements of 4 bytes from (1, 1) of a 4 x 4 matrix to (2, 0) of a 5 x 5 matrix.
  ring.put({1U | 4U << 8 | 2U << 29, low(source), high(source), 1U | 1U << 16, 3U << 13, 15, low(target), high(target), 2U,
            4U << 13, 24, 1U | 2U << 16, 0});
  ring.queue.advance();
  for (uint32_t row = 0; row < 3; ++row) {
    for (uint32_t column = 0; column < 2; ++column) {
      CHECK(target[row * 5 + 2 + column] == source[(row + 1) * 4 + 1 + column]);
    }
  }
  CHECK(target[1] == 0 && target[4] == 0 && target[15 + 2] == 0);
}

void test_fill_fence_trap() {
  Gpu gpu;
  SdmaRing ring(gpu);
  std::vector<uint32_t> target(8);
  uint32_t fenced = 0;
  ring.put({11U | 2U << 30, low(target.data()), high(target.data()), 0xabcd, 4 * 7 - 1});
  ring.put({5, low(&fenced), high(&fenced), 42});
  ring.put({6, 9});
  ring.put({0U | 2U << 16, 0, 0});
  ring.queue.advance();
  CHECK(target[6] == 0xabcd && target[7] == 0 && fenced == 0);
  gpu.clock.now += 2000;
  ring.queue.advance();
  CHECK(fenced == 42 && gpu.interrupts.raised == std::vector<uint32_t>{9});
  CHECK(ring.read_index == ring.write_index);
}

void test_poll_goes_on_when_the_awaited_op_ended() {
  Gpu gpu;
  SdmaRing ring(gpu);
  Signal awaited = new_signal(1);
  uint64_t ticks = 0;
  ring.put({8U | 3U << 28 | 1U << 31, low(&awaited.value), high(&awaited.value), 0, 0xffffffff, 0});
  ring.stamp(&ticks);
  CHECK(ring.queue.advance().is_blocked);
  gpu.signal_ends.record(reinterpret_cast<uint64_t>(&awaited), 1'004'000, 1'005'000);
  awaited.value = 0;
  gpu.clock.now = 1'090'000;
  ring.queue.advance();
  CHECK(ticks == 100'400);
}

void test_unknown_packet_stops() {
  Gpu gpu;
  SdmaRing ring(gpu);
  ring.put({200});
  CHECK(!ring.queue.advance().has_moved);
  ring.put({0});
  CHECK(!ring.queue.advance().has_moved && ring.read_index == 0);
}

}  // namespace

int main() {
  test_copy_with_timestamps();
  test_window_copy();
  test_fill_fence_trap();
  test_poll_goes_on_when_the_awaited_op_ended();
  test_unknown_packet_stops();
  return 0;
}
