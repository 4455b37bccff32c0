// Launches as the collector sees them inside of the program's calls: noted, counted once, on the right GPU, and as what.
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"
#include "core/thread_state.h"
#include "played_cupti_calls.h"

namespace {

using namespace played;

void launches_are_noted_and_counted(const RecordedSession& recorded) {
  Collector collector(Mode::kStandard);
  wavescope::thread_state().marker = 77;
  Call call(collector.callbacks, kRuntime, kLaunchKernel, 5);
  const LaunchNote note = collector.notes.find(5);
  CHECK(note.thread == wavescope::current_thread() && note.marker == 77 && !note.skipped && !note.counted_by_records);
  CHECK(collector.coverage.missing() == 0);  // it may yet fail
  call.leave();
  wavescope::thread_state().marker = 0;
  CHECK(collector.coverage.missing() == 1 && counters(recorded, 0).seen == 1);
  launch(collector, 6, 0, 719);  // failed
  CHECK(collector.coverage.missing() == 1);
  device_questions = 0;
  for (uint32_t i = 0; i < 3; ++i) launch(collector, 7 + i, 3);
  CHECK(counters(recorded, 3).seen == 3 && counters(recorded, 0).seen == 1);
  CHECK(device_questions == 1);
}

void every_way_to_launch_counts(const RecordedSession& recorded) {
  Collector collector(Mode::kStandard);
  uint32_t correlation = 1;
  uint64_t kernels = 0;
  for (std::size_t number = 0; number < call_function_count(); ++number) {
    const CallFunction& function = call_function(number);
    if (function.effect != Effect::kKernel) continue;
    Call(collector.callbacks, function.domain, function.callback_id, correlation).leave();
    CHECK(collector.notes.find(correlation++).thread != 0);
    CHECK(counters(recorded, 0).seen == ++kernels);
  }
  CHECK(kernels == 17);
  const struct {
    void* launches;
    uint32_t count, flags;
  } on_devices{nullptr, 4, 0};
  Call(collector.callbacks, kRuntime, 272, correlation, &on_devices).leave();
  CHECK(counters(recorded, 0).seen == kernels + 4);
}

void only_the_outermost_call_counts(const RecordedSession& recorded) {
  Collector collector(Mode::kStandard);
  Call outer(collector.callbacks, kRuntime, kLaunchKernel, 20);
  Call inner(collector.callbacks, kDriver, kDriverLaunchKernel, 21);
  Call innermost(collector.callbacks, kDriver, kDriverLaunchKernel, 22);
  innermost.leave();
  inner.leave();
  CHECK(collector.coverage.missing() == 0);
  outer.leave();
  CHECK(counters(recorded, 0).seen == 1);
  CHECK(collector.notes.find(20).thread != 0);
  CHECK(collector.notes.find(21).thread == 0 && collector.notes.find(22).thread == 0);
  Call(collector.callbacks, kDriver, kDriverLaunchKernel, 23).leave();
  CHECK(counters(recorded, 0).seen == 2);
}

void copies_are_noted_only() {
  Collector collector(Mode::kLite);
  Call(collector.callbacks, kRuntime, kMemcpyAsync, 30).leave();
  CHECK(collector.notes.find(30).thread == wavescope::current_thread());
  Call(collector.callbacks, kRuntime, kStreamSynchronize, 31).leave();
  CHECK(collector.notes.find(31).thread == 0);
  CHECK(collector.coverage.missing() == 0);
  Call(collector.callbacks, kRuntime, 9999, 32).leave();  // an id that nobody asked for
  collector.callbacks.on_callback(CuptiCallbackDomain::kState, 1, &collector);
  collector.callbacks.on_callback(kRuntime, kLaunchKernel, nullptr);
  CHECK(collector.coverage.missing() == 0);
}

// Whatever happens at the edges: seen is what is skipped and what records may come of, and the note says which it is.
void skipped_launches_say_so(const RecordedSession& recorded) {
  Collector collector(Mode::kLite);
  const auto skipped = [&] { return counters(recorded, 0).skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES]; };
  collector.callbacks.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
  launch(collector, 40);
  CHECK(skipped() == 1 && counters(recorded, 0).seen == 1 && collector.coverage.missing() == 0);
  CHECK(collector.notes.find(40).skipped.reason() == WAVESCOPE_SKIP_OUTSIDE_SLICES);

  Call into_slice(collector.callbacks, kRuntime, kLaunchKernel, 41);
  collector.callbacks.record();
  into_slice.leave();
  CHECK(skipped() == 2 && collector.notes.find(41).skipped);

  launch(collector, 42);
  CHECK(skipped() == 2 && !collector.notes.find(42).skipped && collector.coverage.missing() == 1);

  Call out_of_slice(collector.callbacks, kRuntime, kLaunchKernel, 43);
  CHECK(!collector.notes.find(43).skipped);
  collector.callbacks.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
  out_of_slice.leave();
  CHECK(skipped() == 3 && collector.notes.find(43).skipped && collector.coverage.missing() == 1);
}

void captured_launches_do_not_count(const RecordedSession& recorded) {
  Collector collector(Mode::kStandard);
  int graph = 0, node = 0;
  GraphResourceData data{};
  data.graph = &graph;
  data.node = &node;
  Call captured(collector.callbacks, kRuntime, kLaunchKernel, 50);
  tell_of_graph(collector.callbacks, ResourceCallback::kGraphNodeCreated, data);
  captured.leave();
  CHECK(collector.coverage.missing() == 0);
  // A node that is made outside of a launch says nothing of the next one.
  tell_of_graph(collector.callbacks, ResourceCallback::kGraphNodeCreated, data);
  launch(collector, 51);
  CHECK(counters(recorded, 0).seen == 1);
}

// CUPTI was let go of inside of a call, whose end nobody tells of.
void a_call_without_its_end_is_forgotten(const RecordedSession& recorded) {
  Collector collector(Mode::kStandard);
  Call cut_off(collector.callbacks, kRuntime, kLaunchKernel, 60);
  CHECK(collector.callbacks.enable(nullptr));
  launch(collector, 1);
  CHECK(counters(recorded, 0).seen == 1);
  cut_off.leave();  // or somebody does: there is no call to end
  CHECK(counters(recorded, 0).seen == 1);
  launch(collector, 2);
  CHECK(counters(recorded, 0).seen == 2);
}

void callbacks_are_wanted_by_mode() {
  const auto count_of = [](Mode mode) {
    enabled.clear();
    Collector collector(mode);
    return enabled.size();
  };
  const std::size_t standard = count_of(Mode::kStandard), full = count_of(Mode::kFull), all = count_of(Mode::kHip);
  CHECK(count_of(Mode::kLite) == standard && standard < full && full < all);
  CHECK(all == call_function_count() + 9);
  count_of(Mode::kStandard);
  CHECK(enabled.count({kRuntime, kLaunchKernel}) == 1 && enabled.count({kDriver, kDriverLaunchKernel}) == 1);
  CHECK(enabled.count({kRuntime, kMemcpyAsync}) == 1 && enabled.count({kRuntime, kGraphLaunch}) == 1);
  CHECK(enabled.count({kRuntime, kMalloc}) == 0 && enabled.count({kRuntime, kStreamSynchronize}) == 0);
  CHECK(enabled.count({CuptiCallbackDomain::kResource, 13}) == 1);
  count_of(Mode::kFull);
  CHECK(enabled.count({kRuntime, kMalloc}) == 1 && enabled.count({kRuntime, kStreamSynchronize}) == 1);
  CHECK(enabled.count({kRuntime, 129}) == 0);  // cudaStreamCreate
}

void ids_that_mean_something_else_are_left_alone() {
  constexpr uint32_t kInternalLaunch = 505, kNewestOf12 = 28;
  enabled.clear();
  Collector newer(Mode::kHip, kVersion13_0);
  CHECK(enabled.count({kRuntime, kInternalLaunch}) == 1 && enabled.count({kRuntime, kMemcpyAsync}) == 1);
  enabled.clear();
  Collector older(Mode::kHip, kNewestOf12);
  CHECK(enabled.count({kRuntime, kInternalLaunch}) == 0 && enabled.count({kRuntime, kMemcpyAsync}) == 1);
  enabled.clear();
  renamed_id = kMemcpyAsync;
  Collector renamed(Mode::kHip);
  renamed_id = 0;
  CHECK(enabled.count({kRuntime, kInternalLaunch}) == 1 && enabled.count({kRuntime, kMemcpyAsync}) == 0);
}

void a_refusal_is_said() {
  const CuptiLibrary cupti = library();
  LaunchNotes notes;
  Coverage coverage(*Session::current());
  ApiCallbacks callbacks(*Session::current(), cupti, notes, coverage, Mode::kStandard);
  answer = CuptiResult::kNotInitialized;
  CHECK(!callbacks.enable(nullptr));
  answer = CuptiResult::kSuccess;
  CHECK(callbacks.enable(nullptr));
}

void threads_launch_at_once(const RecordedSession& recorded) {
  constexpr uint32_t kThreads = 4, kLaunches = 3000;
  Collector collector(Mode::kLite);
  std::atomic<bool> done{false};
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&collector, number] {
      for (uint32_t i = 0; i < kLaunches; ++i) launch(collector, 1 + number * kLaunches + i, number % 2);
    });
  }
  std::thread slices([&] {
    while (!done) {
      collector.callbacks.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
      collector.callbacks.record();
    }
  });
  for (std::thread& thread : threads) thread.join();
  done = true;
  slices.join();
  uint64_t skipped = 0;
  for (uint32_t correlation = 1; correlation <= kThreads * kLaunches; ++correlation) {
    CHECK(collector.notes.find(correlation).thread != 0);
    skipped += collector.notes.find(correlation).skipped ? 1 : 0;
  }
  const WavescopeCounterRecord first = counters(recorded, 0), second = counters(recorded, 1);
  CHECK(first.seen == kThreads / 2 * kLaunches && second.seen == kThreads / 2 * kLaunches);
  CHECK(first.skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] + second.skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == skipped);
  CHECK(collector.coverage.missing() == kThreads * kLaunches - skipped);
}

}  // namespace

int main() {
  const RecordedSession recorded("standard");
  CHECK(Session::current() != nullptr);
  launches_are_noted_and_counted(recorded);
  every_way_to_launch_counts(recorded);
  only_the_outermost_call_counts(recorded);
  copies_are_noted_only();
  skipped_launches_say_so(recorded);
  captured_launches_do_not_count(recorded);
  a_call_without_its_end_is_forgotten(recorded);
  callbacks_are_wanted_by_mode();
  ids_that_mean_something_else_are_left_alone();
  a_refusal_is_said();
  threads_launch_at_once(recorded);
  return 0;
}
