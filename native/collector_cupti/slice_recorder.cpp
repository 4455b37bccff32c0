#include "collector_cupti/slice_recorder.h"

#include <time.h>

#include <algorithm>
#include <string>

#include "core/clock.h"

namespace wavescope::cupti {
namespace {

constexpr uint64_t kFirstStepNs = 5000000;
// A launch may have asked whether it is recorded a moment before its kernel gets to CUPTI.
constexpr timespec kLaunchTime{0, 200000};

}  // namespace

SliceRecorder::SliceRecorder(const Parts& parts, const Settings& settings)
    : parts_(parts),
      longest_step_ns_(settings.flush_ns),
      clock_(settings.slice_ns, settings.slice_period_ns, parts.session.start_ns()) {}

void SliceRecorder::restart() {
  parts_.api.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
  clock_.restart();
}

uint64_t SliceRecorder::step(uint64_t now_ns, uint64_t dropped) {
  if (clock_.is_due(now_ns)) begin_slice(dropped);
  else if (clock_.is_over(now_ns)) end_slice();
  else if (clock_.phase() == SliceClock::Phase::kSettling) settle(now_ns, dropped);
  const uint64_t then_ns = boottime_ns();
  const uint64_t until_flush_ns = flush_at_ns_ > then_ns ? flush_at_ns_ - then_ns : 0;
  return std::min(until_flush_ns, clock_.sleep_ns(then_ns));
}

void SliceRecorder::begin_slice(uint64_t dropped) {
  records_.begin(parts_.decoder.take_kernel_starts(), parts_.coverage.missing(), dropped);
  clock_.turned_on(boottime_ns());
  std::string reason;
  if (parts_.attachment.turn_on(Records::kKernels, reason)) {
    const uint64_t on_ns = boottime_ns();
    parts_.api.record();
    const uint64_t seen = parts_.coverage.seen();
    if (seen == seen_) records_.begins_idle(on_ns);
    seen_ = seen;
    return;
  }
  if (!failure_is_noted_) parts_.session.facts().note("kernels not recorded, because " + reason);
  failure_is_noted_ = true;
  clock_.turned_off();
  clock_.settled();
}

void SliceRecorder::end_slice() {
  parts_.api.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
  records_.end(read_clocks(parts_.library));
  nanosleep(&kLaunchTime, nullptr);
  parts_.attachment.turn_off(Records::kKernels, true);
  clock_.turned_off();
  settling_step_ns_ = kFirstStepNs;
  flush_at_ns_ = boottime_ns();
}

void SliceRecorder::settle(uint64_t now_ns, uint64_t dropped) {
  records_.add(parts_.decoder.take_kernel_starts(), now_ns);
  if (records_.are_in(parts_.coverage.missing(), now_ns)) return write_window(dropped);
  if (flush_at_ns_ != UINT64_MAX) return;
  flush_at_ns_ = now_ns + settling_step_ns_;
  settling_step_ns_ = std::min(2 * settling_step_ns_, longest_step_ns_);
}

void SliceRecorder::write_window(uint64_t dropped) {
  clock_.settled();
  flush_at_ns_ = UINT64_MAX;
  if (const auto window = records_.window(dropped)) {
    parts_.session.facts().append(Fact("slice").add("start_ns", window->start_ns).add("end_ns", window->end_ns));
  } else if (records_.has_kernels()) {
    ++without_window_;
  }
}

void SliceRecorder::close() {
  if (clock_.phase() == SliceClock::Phase::kOn) end_slice();
}

void SliceRecorder::settle_last(uint64_t dropped) {
  if (clock_.phase() != SliceClock::Phase::kSettling) return;
  records_.add(parts_.decoder.take_kernel_starts(), boottime_ns());
  write_window(dropped);
}

}  // namespace wavescope::cupti
