#include "collector_cupti/clock_pairs.h"

#include "core/clock.h"

namespace wavescope::cupti {
namespace {

constexpr int kReadings = 5;
constexpr uint64_t kTicksPerSecond = 1000000000;
constexpr uint32_t kMostGpus = 64;

}  // namespace

ClockPair read_clocks(const CuptiLibrary& library) {
  ClockPair best;
  uint64_t shortest_ns = UINT64_MAX;
  for (int reading = 0; reading < kReadings; ++reading) {
    uint64_t ticks = 0;
    const uint64_t before_ns = boottime_ns();
    if (library.get_timestamp(&ticks) != CuptiResult::kSuccess || ticks == 0) continue;
    const uint64_t took_ns = boottime_ns() - before_ns;
    if (took_ns >= shortest_ns) continue;
    shortest_ns = took_ns;
    best = ClockPair{ticks, before_ns + took_ns / 2};
  }
  return best;
}

void ClockPairs::take(uint64_t gpus) {
  const ClockPair pair = read_clocks(library_);
  if (pair.ticks == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  newest_ = pair;
  if (first_.ticks == 0) first_ = pair;
  write(gpus & introduced_.load(std::memory_order_relaxed), pair);
}

void ClockPairs::introduce(uint64_t gpus) {
  if ((gpus & ~introduced_.load(std::memory_order_acquire)) == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  const uint64_t unknown = gpus & ~introduced_.load(std::memory_order_relaxed);
  if (unknown == 0 || newest_.ticks == 0) return;
  write(unknown, first_);
  introduced_.fetch_or(unknown, std::memory_order_release);
  if (newest_.ticks != first_.ticks) write(unknown, newest_);
}

ClockPair ClockPairs::newest() const {
  const std::lock_guard<std::mutex> lock(mutex_);
  return newest_;
}

void ClockPairs::write(uint64_t gpus, const ClockPair& pair) {
  for (uint32_t gpu = 0; gpu < kMostGpus; ++gpu) {
    if ((gpus >> gpu & 1) == 0) continue;
    Fact fact("clock");
    fact.add("gpu", gpu).add("ticks", pair.ticks).add("ns", pair.ns);
    const bool is_first = (introduced_.load(std::memory_order_relaxed) >> gpu & 1) == 0;
    if (is_first) fact.add("ticks_per_second", kTicksPerSecond);
    facts_.append(fact);
  }
}

}  // namespace wavescope::cupti
