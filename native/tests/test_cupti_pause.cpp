// Pausing and resuming, and giving CUPTI to other tools of the program for a while.
#include <algorithm>
#include <string>
#include <vector>

#include "small_cupti.h"

using namespace wavescope;
using namespace small;

// A session is never destroyed, nor is a collector.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

extern "C" {
CuptiResult cuptiSubscribe(CuptiSubscriber* subscriber, CuptiCallback callback, void* user_data);
CuptiResult cuptiSubscribe_v2(CuptiSubscriber* subscriber, CuptiCallback callback, void* user_data, void* parameters);
CuptiResult cuptiUnsubscribe(CuptiSubscriber subscriber);
CuptiResult cuptiFinalize();
CuptiResult cuptiActivityRegisterCallbacks(CuptiBufferRequested requested, CuptiBufferCompleted completed);
CuptiResult cuptiActivityRegisterCallbacks_v2(CuptiSubscriber subscriber, void* requested, void* completed);
}

namespace {

using Log = std::vector<std::string>;

const Log kTaken = {"subscribe", "attribute 5 1", "register", "enable 10", "enable 1", "enable 2", "enable 22"};
const Log kStopped = {"disable 10", "disable 1", "disable 2", "disable 22", "forced flush"};

Log operator+(Log first, const Log& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

bool is_subscribed() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return state().callback != nullptr;
}

// Until it records again: a flush comes after that.
void wait_until_recording() {
  wait_until([] {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().kinds.count(CuptiActivityKind::kMemcpyPeer) != 0;
  });
  const int flushes = state().flushes;
  wait_until([&] { return state().flushes > flushes; });
}

// A paused program pays nothing: its next call takes CUPTI out of it. Correlation ids begin anew afterwards.
void a_pause_takes_cupti_out_of_the_process() {
  Recording recording("standard");
  recording.begin();
  launch();
  Session::current()->control().pause();
  wait_until([] { return has_logged("forced flush"); });
  const uint64_t skipped = launches_until_finalized();
  CHECK(!is_subscribed());
  launch();  // nobody sees it
  CHECK(take_log() == kTaken + kStopped + Log{"finalize at exit of call"});
  Session::current()->control().resume();
  wait_until_recording();
  CHECK(take_log() == kTaken);
  launch();
  CHECK(recording.collector->finish(30000000000));

  const auto ops = recording.ops();
  CHECK(ops.size() == 2);
  CHECK(ops[0].op.correlation == 1);
  CHECK(ops[1].op.correlation == ((uint64_t{1} << 32) | 2));  // the launch that nobody saw was the first
  const WavescopeCounterRecord counters = recording.counters();
  CHECK(counters.seen == 2 + skipped && counters.timed == 2 && counters.skipped[WAVESCOPE_SKIP_PAUSED] == skipped);
}

void a_pause_that_ends_before_the_next_call_changes_nothing() {
  Recording recording("standard");
  recording.begin();
  launch();
  Session::current()->control().pause();
  wait_until([] { return has_logged("forced flush"); });
  Session::current()->control().resume();
  wait_until_recording();
  launch();
  CHECK(recording.collector->finish(30000000000));
  CHECK(take_log() == kTaken + kStopped + Log({"enable 10", "enable 1", "enable 2", "enable 22"}) + kStopped);
  const auto ops = recording.ops();
  CHECK(ops.size() == 2 && ops[1].op.correlation == 2);
}

void kernels_under_way_are_waited_for() {
  Recording recording("standard");
  recording.begin();
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().holds_back = true;
  }
  launch();
  Session::current()->control().pause();
  wait_until([] { return has_logged("disable 22"); });
  CHECK(recording.ops().empty());
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().holds_back = false;
  }
  wait_until([&] { return recording.counters().timed == 1; });
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.counters().lost[WAVESCOPE_LOSS_PENDING_AT_EXIT] == 0);
}

// CUPTI's memory on the GPU is used up: no kernel has times until it is taken anew.
void lost_times_come_back() {
  Recording recording("standard");
  recording.begin();
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().lacks_times = true;
  }
  for (int at = 0; at < 1000; ++at) launch();
  wait_until([] { return has_logged("forced flush"); });
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().lacks_times = false;
  }
  const uint64_t skipped = launches_until_finalized();
  wait_until_recording();
  launch();
  CHECK(recording.collector->finish(30000000000));
  const WavescopeCounterRecord counters = recording.counters();
  CHECK(counters.lost[WAVESCOPE_LOSS_TIMESTAMPS] == 1000 && counters.timed == 1 && counters.seen == 1001 + skipped);
  CHECK(counters.skipped[WAVESCOPE_SKIP_PAUSED] == skipped);
  const auto notes = recording.facts("note");
  CHECK(notes.size() == 1 && notes[0].find("CUPTI gave no times of 1000 kernels") != std::string::npos);
}

void a_paused_start_does_not_touch_cupti() {
  setenv("WAVESCOPE_START_PAUSED", "1", 1);
  Recording recording("standard");
  recording.begin();
  launch();
  CHECK(take_log().empty());
  Session::current()->control().resume();
  wait_until_recording();
  launch();
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.ops().size() == 1 && recording.counters().seen == 1);
}

void another_tool_gets_cupti_and_gives_it_back() {
  Recording recording("standard");
  recording.begin();
  launch();
  recording.collector->yield_to("cuptiSubscribe");
  CHECK(take_log() == kTaken + kStopped + Log{"unsubscribe"});
  CHECK(recording.ops().size() == 1);
  recording.collector->yield_to("cuptiActivityRegisterCallbacks");  // the same tool goes on
  launch();
  CHECK(take_log().empty());
  auto notes = recording.facts("note");
  CHECK(notes.size() == 1);
  CHECK(notes[0].find(" on, because a profiler of the program took CUPTI (cuptiSubscribe)") != std::string::npos);

  recording.collector->take_back();
  wait_until_recording();
  launch();
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.ops().size() == 2);
  CHECK(recording.ops()[1].op.correlation >> 32 == 1);
  notes = recording.facts("note");
  CHECK(notes.size() == 2 && notes[1].find("GPU work recorded again from ") != std::string::npos);
}

void a_tool_that_stays_is_left_alone() {
  Recording recording("standard");
  recording.begin();
  recording.collector->yield_to("cuptiSubscribe");
  take_log();
  launch();
  CHECK(recording.collector->finish(30000000000));
  CHECK(take_log().empty());
}

void tell_of_a_graph() {
  GraphResourceData graph{};
  graph.graph = &graph;
  ResourceCallbackData data{};
  data.descriptor = &graph;
  state().callback(state().user_data, CuptiCallbackDomain::kResource, static_cast<uint32_t>(ResourceCallback::kGraphCreated),
                   &data);
}

// Runs of whole graphs keep their kernels from the other tool, and may only be turned off before there are graphs.
void another_tool_gets_kernels_of_graphs_if_it_can(bool has_graphs) {
  setenv("WAVESCOPE_SLICE_MS", "0", 1);
  Recording recording("lite");
  recording.begin();
  if (has_graphs) tell_of_a_graph();
  CHECK(has_logged("enable 51"));
  recording.collector->yield_to("cuptiSubscribe");
  CHECK(has_logged("disable 51") != has_graphs);
  const auto notes = recording.facts("note");
  CHECK(notes.size() == (has_graphs ? 2 : 1));
  if (has_graphs) CHECK(notes[1].find("(cuptiSubscribe) gets runs of whole graphs, not their kernels") != std::string::npos);
  take_log();
  recording.collector->take_back();
  wait_until_recording();
  CHECK(!has_logged("enable 51"));  // it is still on, or never will be
  CHECK(recording.collector->finish(30000000000));
  const auto said = recording.facts("note");
  const std::string never_again = "runs of whole graphs not recorded after a pause";
  CHECK(has_graphs != std::any_of(said.begin(), said.end(),
                                  [&](const std::string& note) { return note.find(never_again) != std::string::npos; }));
}

void graphs_stay_on_where_there_are_some() { another_tool_gets_kernels_of_graphs_if_it_can(true); }
void graphs_go_off_where_there_are_none() { another_tool_gets_kernels_of_graphs_if_it_can(false); }

// What is finalized is off, whoever did it.
void a_tool_that_finalizes_turns_graphs_off() {
  setenv("WAVESCOPE_SLICE_MS", "0", 1);
  Recording recording("lite");
  recording.begin();
  tell_of_a_graph();
  recording.collector->yield_to_end("cuptiFinalize");
  CHECK(!has_logged("disable 51") && recording.facts("note").size() == 1);
  recording.collector->take_back_anew();
  wait_until_recording();
  CHECK(recording.collector->finish(30000000000));
  const auto notes = recording.facts("note");
  CHECK(notes.size() == 3);
  CHECK(notes[1].find("runs of whole graphs not recorded after a pause") != std::string::npos);
}

// While the other one is subscribed in a way that cannot be seen, it is tried again; the note comes once.
void taking_back_may_have_to_wait() {
  Recording recording("standard");
  recording.begin();
  recording.collector->yield_to("cuptiSubscribe");
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().subscribe_answer = CuptiResult::kMultipleSubscribers;
    state().log.clear();
  }
  recording.collector->take_back();
  wait_until([] { return has_logged("subscribe"); });
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().subscribe_answer = CuptiResult::kSuccess;
  }
  wait_until([] { return has_logged("enable 22"); });
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.facts("note").size() == 2);
}

void none(CudaContext, uint32_t, uint8_t*, std::size_t, std::size_t) {}

// There is no libcupti in this process: what the functions cannot pass on they refuse, and the collector goes on.
void the_functions_of_other_tools_come_by() {
  CuptiSubscriber subscriber = nullptr;
  CHECK(cuptiSubscribe(&subscriber, nullptr, nullptr) == CuptiResult::kNotInitialized);
  CHECK(cuptiUnsubscribe(nullptr) == CuptiResult::kNotInitialized);
  CHECK(cuptiFinalize() == CuptiResult::kNotInitialized);
  Recording recording("standard");
  recording.begin();
  const struct {
    const char* name;
    CuptiResult result;
  } calls[] = {
      {"cuptiSubscribe", cuptiSubscribe(&subscriber, nullptr, nullptr)},
      {"cuptiSubscribe_v2", (wait_until(is_subscribed), cuptiSubscribe_v2(&subscriber, nullptr, nullptr, nullptr))},
      {"cuptiActivityRegisterCallbacks", (wait_until(is_subscribed), cuptiActivityRegisterCallbacks(nullptr, none))},
      {"cuptiActivityRegisterCallbacks_v2",
       (wait_until(is_subscribed), cuptiActivityRegisterCallbacks_v2(nullptr, nullptr, nullptr))},
      {"cuptiFinalize", (wait_until(is_subscribed), cuptiFinalize())},
  };
  wait_until(is_subscribed);
  CHECK(recording.collector->finish(30000000000));
  std::size_t told = 0;
  for (const auto& call : calls) {
    CHECK(call.result == CuptiResult::kNotInitialized);
    for (const std::string& note : recording.facts("note")) {
      told += note.find("(" + std::string(call.name) + ")") != std::string::npos ? 1 : 0;
    }
  }
  CHECK(told == std::size(calls));
}

}  // namespace

int main() {
  in_child(a_pause_takes_cupti_out_of_the_process);
  in_child(a_pause_that_ends_before_the_next_call_changes_nothing);
  in_child(kernels_under_way_are_waited_for);
  in_child(lost_times_come_back);
  in_child(a_paused_start_does_not_touch_cupti);
  in_child(another_tool_gets_cupti_and_gives_it_back);
  in_child(a_tool_that_stays_is_left_alone);
  in_child(graphs_stay_on_where_there_are_some);
  in_child(graphs_go_off_where_there_are_none);
  in_child(a_tool_that_finalizes_turns_graphs_off);
  in_child(taking_back_may_have_to_wait);
  in_child(the_functions_of_other_tools_come_by);
  return 0;
}
