// Launches of CUDA graphs: how their kernels count, and which have no times of their own.
#include <string>

#include "check.h"
#include "told_graphs.h"

namespace {

using namespace played;

void launch_graph(Collector& collector, uint32_t correlation, uint64_t executable, int32_t result = 0) {
  const void* parameters[2] = {handle(executable), nullptr};
  Call(collector.callbacks, kRuntime, kGraphLaunch, correlation, parameters, 1).leave(result);
}

// As a stream capture tells of it: a launch and a copy, each with the node that it makes.
void captures_count_their_launches(const RecordedSession& recorded) {
  Collector collector(Mode::kStandard);
  const Driver driver([&](Event event, const GraphResourceData& data) { tell_of_graph(collector.callbacks, event, data); });
  driver.create(1);
  uint32_t correlation = 1;
  for (const uint32_t id : {kLaunchKernel, kMemcpyAsync, kLaunchKernel, kMemsetAsync, kLaunchKernel}) {
    Call call(collector.callbacks, kRuntime, id, correlation++);
    driver.node(1, GraphNodeType::kKernel);
    call.leave();
  }
  driver.instantiate(1, 100);
  CHECK(collector.coverage.missing() == 0);
  launch_graph(collector, 10, 100);
  CHECK(counters(recorded, 1).seen == 3 && collector.coverage.missing() == 3);
}

void launches_of_graphs_count_their_kernels(const RecordedSession& recorded) {
  Collector collector(Mode::kStandard);
  const Driver driver([&](Event event, const GraphResourceData& data) { tell_of_graph(collector.callbacks, event, data); });
  driver.create(1);
  driver.kernels(1, 121);
  driver.instantiate(1, 100);
  launch_graph(collector, 1, 100);
  launch_graph(collector, 2, 100);
  launch_graph(collector, 3, 100, 700);
  CHECK(counters(recorded, 1).seen == 242 && !collector.notes.find(2).counted_by_records);
  collector.callbacks.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
  launch_graph(collector, 4, 100);
  collector.callbacks.record();
  CHECK(counters(recorded, 1).skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 121 && counters(recorded, 1).seen == 363);

  launch_graph(collector, 5, 200);  // an executable of nobody knows where
  CHECK(counters(recorded, 1).seen == 363 && collector.notes.find(5).counted_by_records);

  constexpr uint32_t kNodeSetEnabled = 650;
  const void* node_off[3] = {handle(100), handle(7), nullptr};
  Call(collector.callbacks, kDriver, kNodeSetEnabled, 6, node_off).leave(1);  // refused
  launch_graph(collector, 7, 100);
  CHECK(counters(recorded, 1).seen == 484 && !collector.notes.find(7).counted_by_records);
  Call(collector.callbacks, kDriver, kNodeSetEnabled, 8, node_off).leave();
  launch_graph(collector, 9, 100);
  CHECK(counters(recorded, 1).seen == 484 && collector.notes.find(9).counted_by_records);

  collector.callbacks.finish();
  collector.callbacks.finish();
  const std::vector<std::string> notes = recorded.facts("\"fact\":\"note\"");
  CHECK(notes.size() == 1);
  CHECK(notes[0].find("launches of CUDA graphs") != std::string::npos);
  CHECK(notes[0].find("\"count\":2") != std::string::npos);
}

// A slice ends while a graph is launched, and records of some of its kernels came before.
void kernels_are_skipped_or_timed(const RecordedSession& recorded) {
  Collector collector(Mode::kLite);
  const Driver driver([&](Event event, const GraphResourceData& data) { tell_of_graph(collector.callbacks, event, data); });
  driver.create(1);
  driver.kernels(1, 7);
  driver.instantiate(1, 100);
  const void* parameters[2] = {handle(100), nullptr};
  Call call(collector.callbacks, kRuntime, kGraphLaunch, 1, parameters, 1);
  for (int record = 0; record < 3; ++record) {
    CHECK(!collector.notes.count_kernel(1));
    collector.coverage.add_timed(1, 1);
  }
  collector.callbacks.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
  call.leave();
  CHECK(counters(recorded, 1).skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 4 && collector.coverage.missing() == 0);
  for (int record = 0; record < 4; ++record) {
    CHECK(collector.notes.count_kernel(1).reason() == WAVESCOPE_SKIP_OUTSIDE_SLICES);
  }
  CHECK(!collector.notes.count_kernel(1));
}

// A record comes before the launch is over that was counted as skipped from its beginning on.
void records_may_come_before_a_launch_is_over(const RecordedSession& recorded) {
  Collector collector(Mode::kLite);
  collector.callbacks.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
  Call call(collector.callbacks, kRuntime, kLaunchKernel, 1, nullptr, 1);
  CHECK(!collector.notes.count_kernel(1));
  collector.coverage.add_timed(1, 1);
  CHECK(counters(recorded, 1).skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 0);
  call.leave();
  CHECK(counters(recorded, 1).skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 0 && counters(recorded, 1).seen == 1);
}

// The kernels of a graph that nobody knows were not counted as skipped, either.
void unknown_graphs_are_not_skipped(const RecordedSession& recorded) {
  Collector collector(Mode::kLite);
  collector.callbacks.skip(WAVESCOPE_SKIP_OUTSIDE_SLICES);
  launch_graph(collector, 1, 500);
  CHECK(collector.notes.find(1).counted_by_records && !collector.notes.count_kernel(1));
  for (const uint64_t skipped : counters(recorded, 1).skipped) CHECK(skipped == 0);
}

// The times of the last recorded launch of a graph are those of later ones. What is launched right after records went off
// may be recorded, too.
void launches_overwrite_the_last_recorded_one() {
  Collector collector(Mode::kLite);
  RecordedTime& time = collector.notes.recorded_time();
  const auto is_overwritten = [&](uint32_t correlation) { return collector.notes.is_overwritten(correlation); };
  for (uint32_t correlation : {1u, 2u}) launch_graph(collector, correlation, 500);
  launch_graph(collector, 3, 600);
  time.goes_off(1000, true);
  CHECK(!is_overwritten(2) && !is_overwritten(3));
  for (uint32_t correlation = 4; correlation < 204; ++correlation) launch_graph(collector, correlation, 500);
  CHECK(!is_overwritten(1) && is_overwritten(2) && !is_overwritten(3) && is_overwritten(4) && is_overwritten(5));
  CHECK(!is_overwritten(203));  // by then nothing is recorded
  time.is_on(2000);
  launch_graph(collector, 205, 500);
  launch_graph(collector, 206, 600);
  launch_graph(collector, 207, 700);
  CHECK(!is_overwritten(3) && !is_overwritten(205) && !is_overwritten(206) && !is_overwritten(0));
  time.goes_off(3000, false);
  launch_graph(collector, 208, 600);
  launch_graph(collector, 209, 800);  // it never was recorded
  CHECK(!is_overwritten(205) && is_overwritten(206) && !is_overwritten(207) && is_overwritten(208) && !is_overwritten(209));
}

void graphs_may_be_skipped_alone(const RecordedSession& recorded) {
  const CuptiLibrary cupti = library();
  LaunchNotes notes;
  Coverage coverage(*Session::current());
  ApiCallbacks callbacks(*Session::current(), cupti, notes, coverage, Mode::kLite);
  callbacks.skip_graphs(WAVESCOPE_SKIP_GRAPH_BATCH);
  CHECK(callbacks.enable(nullptr));
  const Driver driver([&](Event event, const GraphResourceData& data) { tell_of_graph(callbacks, event, data); });
  driver.create(1);
  driver.kernels(1, 4);
  driver.instantiate(1, 100);
  const void* parameters[2] = {handle(100), nullptr};
  Call(callbacks, kRuntime, kGraphLaunch, 1, parameters, 1).leave();
  Call(callbacks, kRuntime, kLaunchKernel, 2, nullptr, 1).leave();
  CHECK(counters(recorded, 1).seen == 5 && counters(recorded, 1).skipped[WAVESCOPE_SKIP_GRAPH_BATCH] == 4);
  CHECK(notes.find(1).skipped.reason() == WAVESCOPE_SKIP_GRAPH_BATCH && !notes.find(2).skipped);
  callbacks.skip(WAVESCOPE_SKIP_PAUSED);
  Call(callbacks, kRuntime, kGraphLaunch, 3, parameters, 1).leave();
  CHECK(counters(recorded, 1).skipped[WAVESCOPE_SKIP_PAUSED] == 4 && coverage.missing() == 1);
}

}  // namespace

int main() {
  const RecordedSession recorded("standard");
  CHECK(Session::current() != nullptr);
  captures_count_their_launches(recorded);
  launches_of_graphs_count_their_kernels(recorded);
  kernels_are_skipped_or_timed(recorded);
  records_may_come_before_a_launch_is_over(recorded);
  unknown_graphs_are_not_skipped(recorded);
  launches_overwrite_the_last_recorded_one();
  graphs_may_be_skipped_alone(recorded);
  return 0;
}
