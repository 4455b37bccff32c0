// The pool of buffers that CUPTI fills, and the pairs of clocks.
#include <atomic>
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "collector_cupti/buffer_pool.h"
#include "collector_cupti/clock_pairs.h"
#include "small_cupti.h"

using namespace wavescope;
using namespace wavescope::cupti;

// A session is never destroyed.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

constexpr std::size_t kBytes = 1 << 20;

bool is_zero(const uint8_t* buffer) {
  static const std::vector<uint8_t> zeros(kBytes);
  return std::memcmp(buffer, zeros.data(), kBytes) == 0;
}

void buffers_are_zeroed_before_they_are_used_again() {
  BufferPool pool(kBytes, 4);
  CHECK(pool.ready() == 0 && pool.made() == 0);
  pool.refill(2);
  CHECK(pool.ready() == 2 && pool.made() == 2);
  uint8_t* first = pool.take();
  CHECK(first != nullptr && is_zero(first) && pool.owns(first) && pool.ready() == 1);
  std::memset(first, 0xff, 3200);  // with a record that was begun behind the last one
  pool.give_back(first, 3000);
  CHECK(pool.ready() == 1);  // it is not handed out as it is
  pool.refill(2);
  CHECK(pool.ready() == 2 && pool.made() == 2);
  CHECK(pool.take() == first && is_zero(first));
  std::memset(first, 0xff, kBytes);
  pool.give_back(first, kBytes + 100);
  pool.refill(2);
  CHECK(is_zero(first));
}

void there_is_a_limit() {
  BufferPool pool(kBytes, 3);
  pool.refill(10);
  CHECK(pool.made() == 3);
  std::set<uint8_t*> taken;
  for (int at = 0; at < 3; ++at) taken.insert(pool.take());
  CHECK(taken.size() == 3 && taken.count(nullptr) == 0);
  CHECK(pool.take() == nullptr && pool.take() == nullptr && pool.refused() == 2);
  pool.give_back(*taken.begin(), 0);
  CHECK(pool.take() == nullptr);
  pool.refill(1);
  CHECK(pool.take() == *taken.begin());
}

void a_buffer_is_there_before_the_worker_is() {
  BufferPool pool(kBytes, 2);
  uint8_t* buffer = pool.take();
  CHECK(buffer != nullptr && is_zero(buffer) && pool.made() == 1);
}

void what_is_of_somebody_else_is_not_taken() {
  BufferPool pool(kBytes, 2);
  uint8_t other = 1;
  CHECK(!pool.owns(&other) && !pool.owns(nullptr));
  pool.give_back(&other, 1);
  uint8_t* buffer = pool.take();
  pool.give_back(buffer, 10);
  pool.give_back(buffer, 10);
  pool.refill(0);
  CHECK(pool.ready() == 1);
}

// No buffer is in two hands, and all are zero when they are handed out.
void threads_share_the_pool() {
  BufferPool pool(4096, 8);
  std::atomic<bool> ends{false};
  std::thread worker([&] {
    while (!ends.load()) pool.refill(4);
  });
  std::vector<std::thread> threads;
  for (uint8_t number = 1; number <= 3; ++number) {
    threads.emplace_back([&pool, number] {
      for (int at = 0; at < 2000; ++at) {
        uint8_t* buffer = pool.take();
        if (buffer == nullptr) continue;
        for (int byte = 0; byte < 64; ++byte) CHECK(buffer[byte] == 0);
        std::memset(buffer, number, 64);
        for (int byte = 0; byte < 64; ++byte) CHECK(buffer[byte] == number);
        pool.give_back(buffer, 64);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  ends = true;
  worker.join();
  CHECK(pool.made() <= 8);
}

int reading = 0;

// Of five readings the third is the only one that does not take long.
CuptiResult slow_timestamp(uint64_t* ticks) {
  if (++reading != 3) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  *ticks = small::ticks();
  if (reading != 3) std::this_thread::sleep_for(std::chrono::milliseconds(3));
  return CuptiResult::kSuccess;
}

CuptiResult no_timestamp(uint64_t*) { return CuptiResult::kNotInitialized; }

void the_best_of_the_readings_is_taken() {
  CuptiLibrary library;
  library.get_timestamp = slow_timestamp;
  const uint64_t before_ns = boottime_ns();
  const ClockPair pair = read_clocks(library);
  CHECK(reading == 5);
  CHECK(pair.ns > before_ns && pair.ns < boottime_ns());
  const uint64_t ahead = pair.ticks - pair.ns;  // the others are off by nothing, too, but took longer
  CHECK(ahead > small::kAhead - 3000000 && ahead < small::kAhead + 3000000);
  library.get_timestamp = no_timestamp;
  CHECK(read_clocks(library).ticks == 0);
}

void each_gpu_has_pairs_from_its_first_record_on() {
  small::Recording recording("standard");
  CuptiLibrary library = small::library();
  ClockPairs pairs(library, Session::current()->facts());
  pairs.introduce(1);
  CHECK(recording.facts("clock").empty());  // there is none yet
  pairs.take(0);
  pairs.introduce(0b100);
  pairs.introduce(0b100);
  auto facts = recording.facts("clock");
  CHECK(facts.size() == 1);
  CHECK(facts[0].find("\"gpu\":2,") != std::string::npos && facts[0].find("ticks_per_second") != std::string::npos);
  CHECK(facts[0].find("\"ticks\":" + std::to_string(pairs.newest().ticks) +
                      ",\"ns\":" + std::to_string(pairs.newest().ns)) != std::string::npos);
  // A GPU that comes later has the same first pair, which is from before its first record.
  const std::string first_ticks = "\"ticks\":" + std::to_string(pairs.newest().ticks) + ",";
  pairs.take(0b100);
  pairs.introduce(0b101);
  pairs.take(0b101);
  facts = recording.facts("clock");
  CHECK(facts.size() == 6);
  CHECK(facts[1].find("\"gpu\":2,") != std::string::npos && facts[1].find(first_ticks) == std::string::npos);
  CHECK(facts[2].find("\"gpu\":0,") != std::string::npos && facts[2].find("ticks_per_second") != std::string::npos);
  CHECK(facts[2].find(first_ticks) != std::string::npos && facts[3].find("\"gpu\":0,") != std::string::npos);
  for (int at : {1, 3, 4, 5}) CHECK(facts[static_cast<std::size_t>(at)].find("ticks_per_second") == std::string::npos);
}

}  // namespace

int main() {
  buffers_are_zeroed_before_they_are_used_again();
  there_is_a_limit();
  a_buffer_is_there_before_the_worker_is();
  what_is_of_somebody_else_is_not_taken();
  threads_share_the_pool();
  the_best_of_the_readings_is_taken();
  in_child(each_gpu_has_pairs_from_its_first_record_on);
  return 0;
}
