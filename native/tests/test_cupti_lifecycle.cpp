// The collector from its first call of CUPTI to its last, with a CUPTI in miniature.
#include <signal.h>
#include <sys/wait.h>

#include <string>
#include <vector>

#include "small_cupti.h"

using namespace wavescope;
using namespace small;

// A session is never destroyed, nor is a collector.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

using Log = std::vector<std::string>;

const Log kKindsOn = {"enable 10", "enable 1", "enable 2", "enable 22"};
const Log kKindsOff = {"disable 10", "disable 1", "disable 2", "disable 22"};

Log operator+(Log first, const Log& second) {
  first.insert(first.end(), second.begin(), second.end());
  return first;
}

void kernels_are_recorded_from_begin_to_finish() {
  Recording recording("standard");
  recording.begin();
  CHECK(take_log() == Log({"subscribe", "attribute 5 1", "register"}) + kKindsOn);
  for (int at = 0; at < 3; ++at) launch();
  wait_until([&] { return recording.ops().size() == 3; });  // by the flushes of its worker
  launch();
  CHECK(recording.collector->finish(30000000000));
  CHECK(take_log() == kKindsOff + Log{"forced flush"});
  CHECK(Collector::current() == nullptr);

  const auto ops = recording.ops();
  CHECK(ops.size() == 4);
  for (uint64_t at = 0; at < ops.size(); ++at) {
    CHECK(ops[at].op.correlation == at + 1);
    CHECK(ops[at].op.end - ops[at].op.start == kKernelNs);
    CHECK(ops[at].op.thread == current_thread());
  }
  const WavescopeCounterRecord counters = recording.counters();
  CHECK(counters.seen == 4 && counters.timed == 4 && counters.lost[WAVESCOPE_LOSS_PENDING_AT_EXIT] == 0);
  const auto clocks = recording.facts("clock");
  CHECK(clocks.size() >= 2);
  CHECK(clocks[0].find("\"gpu\":0") != std::string::npos);
  CHECK(clocks[0].find("\"ticks_per_second\":1000000000") != std::string::npos);
  CHECK(clocks[1].find("ticks_per_second") == std::string::npos);
  CHECK(recording.facts("cost").size() == 1);
  CHECK(recording.facts("note").empty());

  launch();  // in a handler of exit() that comes later: nothing is called or written any more
  CHECK(recording.collector->finish(30000000000));
  CHECK(take_log().empty());
  CHECK(recording.counters().seen == 4);
}

void what_is_refused_leaves_nothing_behind() {
  Recording recording("standard");
  state().subscribe_answer = CuptiResult::kMultipleSubscribers;
  std::string reason;
  CHECK(!recording.collector->begin(reason));
  CHECK(reason == "another tool uses CUPTI in this process");
  CHECK(take_log() == Log{"subscribe"});
  CHECK(Collector::current() == nullptr);

  state().subscribe_answer = CuptiResult::kSuccess;
  state().refused_kind = CuptiActivityKind::kConcurrentKernel;
  auto* second = new Collector(library(), *Session::current(), settings());
  CHECK(!second->begin(reason));
  CHECK(reason.find("NVreg_RestrictProfilingToAdminUsers") != std::string::npos);
  CHECK(take_log() == Log({"subscribe", "attribute 5 1", "register", "enable 10", "unsubscribe"}));

  state().register_answer = CuptiResult::kNotCompatible;
  auto* third = new Collector(library(), *Session::current(), settings());
  CHECK(!third->begin(reason));
  CHECK(take_log() == Log({"subscribe", "attribute 5 1", "register", "unsubscribe"}));
}

// A thread is still in its launch when the process ends, and the record of its kernel came.
void a_call_that_does_not_end_was_seen() {
  Recording recording("standard");
  recording.begin();
  ApiCallbackData data{};
  data.site = CallbackSite::kEnter;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    data.correlation = ++state().correlation;
  }
  state().callback(state().user_data, CuptiCallbackDomain::kRuntimeApi, kLaunchKernel, &data);
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    record_kernel(data.correlation, 7);
  }
  wait_until([&] { return recording.counters().timed == 1; });
  CHECK(recording.counters().seen == 0);
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.counters().seen == 1 && recording.counters().timed == 1);
}

void a_kind_that_is_refused_is_told_of() {
  Recording recording("standard");
  state().refused_kind = CuptiActivityKind::kMemset;
  recording.begin();
  launch();
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.ops().size() == 1);
  const auto notes = recording.facts("note");
  CHECK(notes.size() == 1 && notes[0].find("fills not recorded, because ") != std::string::npos);
}

void dropped_records_are_counted() {
  Recording recording("standard");
  recording.begin();
  launch();
  launch();
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().used -= bytes_of(CuptiActivityKind::kConcurrentKernel);  // the last one is dropped, with one of a copy
    std::memset(state().buffer + state().used, 0, bytes_of(CuptiActivityKind::kConcurrentKernel));
    state().dropped = 2;
  }
  CHECK(recording.collector->finish(30000000000));
  const WavescopeCounterRecord counters = recording.counters();
  CHECK(counters.seen == 2 && counters.timed == 1);
  CHECK(counters.lost[WAVESCOPE_LOSS_BUFFER_FULL] == 1 && counters.lost[WAVESCOPE_LOSS_PENDING_AT_EXIT] == 0);
  const auto notes = recording.facts("note");
  CHECK(notes.size() == 1 && notes[0].find("\"count\":2") != std::string::npos);
}

void a_driver_that_is_gone_ends_it_at_once() {
  Recording recording("standard", 100000);
  recording.begin();
  launch();
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().flush_answer = CuptiResult::kNotInitialized;
  }
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.ops().empty());
  const WavescopeCounterRecord counters = recording.counters();
  CHECK(counters.seen == 1 && counters.timed == 0 && counters.lost[WAVESCOPE_LOSS_PENDING_AT_EXIT] == 1);
}

void a_flush_that_hangs_does_not_keep_the_program() {
  Recording recording("standard", 100000);
  recording.begin();
  launch();
  state().flush_hangs = true;
  CHECK(!recording.collector->finish(20000000));
  CHECK(Collector::current() == nullptr);
  state().flush_hangs = false;
  launch();
  CHECK(recording.counters().seen == 1);
  wait_until([&] { return recording.facts("cost").size() == 1; });
  CHECK(!has_logged("forced flush"));  // CUPTI may be gone
  CHECK(!state().has_hung || state().questions == 0);
}

void kernels_that_run_at_the_end_are_not_waited_for_long() {
  Recording recording("standard");
  recording.begin();
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    state().holds_back = true;
  }
  launch();
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.ops().size() == 1);  // by the forced flush
  CHECK(recording.counters().timed == 1);
}

// The parent goes on; the child has no collector, and what CUPTI may still tell it of is nobody's.
void a_forked_child_forgets() {
  Recording recording("standard");
  recording.begin();
  launch();
  wait_until([&] { return recording.counters().timed == 1; });
  Session::at_fork_child([] {
    if (Collector* collector = Collector::current()) collector->forget_in_child();
  });
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    CHECK(Collector::current() == nullptr);
    new (&state().mutex) std::mutex;  // another thread of the parent may have held it
    uint8_t* buffer = reinterpret_cast<uint8_t*>(1);
    std::size_t bytes = 1, most = 1;
    state().requested(&buffer, &bytes, &most);
    CHECK(buffer == nullptr && bytes == 0);
    ApiCallbackData data{};
    data.site = CallbackSite::kEnter;
    state().callback(state().user_data, CuptiCallbackDomain::kRuntimeApi, kLaunchKernel, &data);
    CHECK(Session::if_open() == nullptr);
    _exit(0);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  launch();
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.ops().size() == 2);
  CHECK(recording.counters().seen == 2);
}

void a_killed_process_leaves_what_was_delivered() {
  Recording outer("standard");
  const pid_t child = fork();
  CHECK(child >= 0);
  if (child == 0) {
    outer.collector = new Collector(library(), *Session::current(), settings());
    outer.begin();
    launch();
    launch();
    wait_until([&] { return outer.counters().timed == 2 && !outer.facts("clock").empty(); });
    {
      const std::lock_guard<std::mutex> lock(state().mutex);
      state().holds_back = true;
    }
    launch();
    kill(getpid(), SIGKILL);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && WIFSIGNALED(status));
  CHECK(outer.folder.records<WavescopeGraphOpRecord>("ops", child).size() == 2);
  const auto counters = outer.folder.records<WavescopeCounterRecord>("counters", child);
  CHECK(counters.size() == 1 && counters[0].seen == 3 && counters[0].timed == 2);
  CHECK(!outer.folder.facts("clock", child).empty());
}

}  // namespace

int main() {
  in_child(kernels_are_recorded_from_begin_to_finish);
  in_child(what_is_refused_leaves_nothing_behind);
  in_child(a_call_that_does_not_end_was_seen);
  in_child(a_kind_that_is_refused_is_told_of);
  in_child(dropped_records_are_counted);
  in_child(a_driver_that_is_gone_ends_it_at_once);
  in_child(a_flush_that_hangs_does_not_keep_the_program);
  in_child(kernels_that_run_at_the_end_are_not_waited_for_long);
  in_child(a_forked_child_forgets);
  in_child(a_killed_process_leaves_what_was_delivered);
  return 0;
}
