#include "collector_cupti/slices.h"

#include <algorithm>

namespace wavescope::cupti {
namespace {

constexpr uint64_t kQuietNs = 1000000000;
constexpr uint64_t kBehindNs = 1000000;
constexpr uint64_t kFewestShare = 10;  // a tenth of the kernels
constexpr uint64_t kForEver = UINT64_MAX;

// xorshift: any seed but 0 will do, and it repeats.
uint64_t next_random(uint64_t state) {
  state ^= state << 13;
  state ^= state >> 7;
  state ^= state << 17;
  return state;
}

}  // namespace

std::optional<Window> window_of(const SliceEvidence& slice) {
  if (slice.streams.empty()) {
    if (slice.idle_from_ns == 0) return std::nullopt;
    return Window{slice.idle_from_ns, slice.off.ns};
  }
  uint64_t kernels = 0;
  uint64_t earliest = UINT64_MAX;
  for (const KernelStarts& stream : slice.streams) {
    if (stream.kernels == 0) return std::nullopt;  // all it has were left out
    kernels += stream.kernels;
    earliest = std::min(earliest, stream.first);
  }
  uint64_t start = earliest;
  uint64_t end = UINT64_MAX;
  for (const KernelStarts& stream : slice.streams) {
    const bool is_behind = stream.last > slice.off.ticks + kBehindNs;
    const bool is_light = stream.kernels * kFewestShare < kernels;
    const bool is_new = stream.queue >= slice.known_queues;
    if (is_behind || !(is_light || is_new)) start = std::max(start, stream.first);
    end = std::min(end, stream.left_out != 0 ? stream.last : std::max(slice.off.ticks, stream.last));
  }
  if (start >= end) return std::nullopt;
  const uint64_t difference = slice.off.ns - slice.off.ticks;
  return Window{start + difference, end + difference};
}

SliceClock::SliceClock(uint64_t length_ns, uint64_t period_ns, uint64_t seed)
    : length_ns_(length_ns), period_ns_(std::max(period_ns, length_ns)), random_(seed | 1) {}

void SliceClock::turned_on(uint64_t now_ns) {
  phase_ = Phase::kOn;
  on_ns_ = now_ns;
}

// The next one comes a period after this one, give or take a quarter: else it might always meet the same part of a step.
void SliceClock::turned_off() {
  phase_ = Phase::kSettling;
  random_ = next_random(random_);
  const uint64_t jitter_ns = period_ns_ / 2 == 0 ? 0 : random_ % (period_ns_ / 2);
  next_ns_ = on_ns_ + period_ns_ - period_ns_ / 4 + jitter_ns;
}

void SliceClock::restart() {
  phase_ = Phase::kBetween;
  next_ns_ = 0;
}

uint64_t SliceClock::sleep_ns(uint64_t now_ns) const {
  const auto until = [&](uint64_t then_ns) { return then_ns > now_ns ? then_ns - now_ns : 0; };
  if (phase_ == Phase::kBetween) return until(next_ns_);
  if (phase_ == Phase::kOn) return until(on_ns_ + length_ns_);
  return kForEver;
}

void SliceRecords::begin(const std::vector<KernelStarts>& past, uint64_t missing, uint64_t dropped) {
  for (const auto& [queue, starts] : starts_) known_queues_ = std::max(known_queues_, queue + 1);
  for (const KernelStarts& stream : past) known_queues_ = std::max<uint32_t>(known_queues_, stream.queue + 1u);
  starts_.clear();
  off_ = ClockPair{};
  idle_from_ns_ = 0;
  newest_ns_ = 0;
  missing_before_ = missing;
  dropped_before_ = dropped;
}

void SliceRecords::add(const std::vector<KernelStarts>& starts, uint64_t now_ns) {
  for (const KernelStarts& stream : starts) {
    const auto [known, is_new] = starts_.emplace(stream.queue, stream);
    if (is_new) continue;
    known->second.first = std::min(known->second.first, stream.first);
    known->second.last = std::max(known->second.last, stream.last);
    known->second.kernels += stream.kernels;
    known->second.left_out += stream.left_out;
  }
  if (!starts.empty() || newest_ns_ == 0) newest_ns_ = now_ns;
}

bool SliceRecords::are_in(uint64_t missing, uint64_t now_ns) const {
  return missing <= missing_before_ || now_ns > std::max(newest_ns_, off_.ns) + kQuietNs;
}

std::optional<Window> SliceRecords::window(uint64_t dropped) const {
  if (dropped != dropped_before_) return std::nullopt;
  SliceEvidence slice{{}, known_queues_, off_, idle_from_ns_};
  for (const auto& [queue, starts] : starts_) slice.streams.push_back(starts);
  return window_of(slice);
}

}  // namespace wavescope::cupti
