// Slices of lite mode: when they are, what they vouch for, and a recording in slices.
#include <algorithm>
#include <string>
#include <vector>

#include "collector_cupti/slices.h"
#include "small_cupti.h"

using namespace wavescope;
using namespace small;

// A session is never destroyed, nor is a collector.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace {

constexpr uint64_t kMs = 1000000;
constexpr uint64_t kOffNs = 500 * kMs;
constexpr ClockPair kOff{kOffNs + 7, kOffNs};  // CUPTI's clock is 7 ahead

KernelStarts stream(uint16_t queue, uint64_t first_ms, uint64_t last_ms, uint64_t kernels = 100) {
  return KernelStarts{queue, first_ms * kMs + 7, last_ms * kMs + 7, kernels};
}

bool is_window(const std::vector<KernelStarts>& streams, uint64_t start_ms, uint64_t end_ms, uint32_t known = 16) {
  const auto window = window_of({streams, known, kOff, 0});
  return window && window->start_ns == start_ms * kMs && window->end_ns == end_ms * kMs;
}

void windows_hold_for_all_streams() {
  CHECK(is_window({stream(0, 480, 499)}, 480, 500));  // records were on until 500
  CHECK(is_window({stream(0, 600, 700)}, 600, 700));  // all of it waited
  CHECK(is_window({stream(0, 480, 499), stream(1, 485, 490)}, 485, 500));
  CHECK(is_window({stream(0, 490, 800), stream(1, 520, 600)}, 520, 600));
  CHECK(!window_of({{}, 0, kOff, 0}));
  CHECK(!window_of({{stream(0, 480, 499), stream(1, 520, 600)}, 16, kOff, 0}));  // far apart
  CHECK(!window_of({{stream(0, 600, 600, 1)}, 16, kOff, 0}));
}

// Kernels after the last one of a stream have no times: nothing is said of the time in which they ran.
void what_was_left_out_ends_them() {
  KernelStarts cut = stream(0, 480, 495);
  cut.left_out = 3;
  CHECK(is_window({cut}, 480, 495));
  CHECK(is_window({cut, stream(1, 480, 499)}, 480, 495));
  KernelStarts only = stream(2, 0, 0, 0);
  only.left_out = 1;
  CHECK(!window_of({{stream(0, 480, 499), only}, 16, kOff, 0}));
  SliceRecords records;
  records.begin({}, 0, 0);
  records.end(kOff);
  records.add({stream(0, 480, 490)}, kOffNs);
  KernelStarts later = stream(0, 0, 0, 0);
  later.first = UINT64_MAX;
  later.last = 0;
  later.left_out = 5;
  records.add({later}, kOffNs);
  const auto window = records.window(0);
  CHECK(window && window->start_ns == 480 * kMs && window->end_ns == 490 * kMs);
}

void light_and_new_streams_do_not_narrow_them() {
  CHECK(is_window({stream(0, 480, 499, 91), stream(1, 495, 495, 9)}, 480, 500));
  CHECK(is_window({stream(0, 480, 499, 90), stream(1, 495, 495, 10)}, 495, 500));
  CHECK(is_window({stream(0, 480, 499), stream(1, 495, 499)}, 480, 500, 1));
  CHECK(is_window({stream(0, 480, 900, 91), stream(1, 495, 520, 9)}, 495, 520));  // but it is behind
  CHECK(is_window({stream(0, 490, 499), stream(1, 480, 499)}, 480, 500, 0));
}

void slices_come_at_their_time() {
  SliceClock clock(20 * kMs, 400 * kMs, 1);
  CHECK(clock.is_due(0));
  clock.turned_on(5000 * kMs);
  CHECK(!clock.is_due(9000 * kMs));
  CHECK(!clock.is_over(5019 * kMs));
  CHECK(clock.sleep_ns(5019 * kMs) == kMs);
  CHECK(clock.is_over(5020 * kMs));
  clock.turned_off();
  CHECK(!clock.is_over(5020 * kMs) && clock.sleep_ns(5020 * kMs) == UINT64_MAX);
  CHECK(!clock.is_due(9000 * kMs));  // its records are not in
  clock.settled();
  CHECK(!clock.is_due(5299 * kMs) && clock.is_due(5500 * kMs));
}

void an_idle_program_has_windows_too() {
  SliceEvidence slice{{}, 16, kOff, 480 * kMs};
  const auto window = window_of(slice);
  CHECK(window && window->start_ns == 480 * kMs && window->end_ns == kOffNs);
  slice.streams.push_back(stream(0, 490, 495));
  CHECK(window_of(slice)->start_ns == 490 * kMs);
}

// They neither come ever faster nor in step with something of the program.
void slices_jitter_around_their_period() {
  SliceClock clock(20 * kMs, 400 * kMs, 12345);
  uint64_t now_ns = 1000 * kMs, earliest = UINT64_MAX, latest = 0, sum = 0;
  constexpr int kSlices = 1000;
  for (int at = 0; at < kSlices; ++at) {
    clock.turned_on(now_ns);
    clock.turned_off();
    clock.settled();
    const uint64_t gap_ns = clock.sleep_ns(now_ns);
    earliest = std::min(earliest, gap_ns);
    latest = std::max(latest, gap_ns);
    sum += gap_ns;
    now_ns += gap_ns;
  }
  CHECK(earliest >= 300 * kMs && earliest < 310 * kMs);
  CHECK(latest < 500 * kMs && latest > 490 * kMs);
  CHECK(sum / kSlices > 390 * kMs && sum / kSlices < 410 * kMs);
}

void records_are_in_when_nothing_is_missing_or_comes() {
  SliceRecords records;
  records.begin({}, 5, 0);
  records.add({stream(0, 480, 490, 3)}, 495 * kMs);
  records.end(kOff);
  CHECK(!records.are_in(6, 510 * kMs));
  CHECK(records.are_in(5, 510 * kMs));
  CHECK(!records.are_in(6, 1499 * kMs) && records.are_in(6, 1501 * kMs));
  records.add({stream(0, 491, 499, 3)}, 1400 * kMs);
  CHECK(!records.are_in(6, 2399 * kMs));
  const auto window = records.window(0);
  CHECK(window && window->start_ns == 480 * kMs && window->end_ns == kOffNs);
  CHECK(!records.window(1));  // something was dropped
  records.begin({}, 0, 1);
  CHECK(!records.has_kernels() && !records.window(1));
}

// Its kernels come in two deliveries, and are too many in sum for a stream that does not matter.
void kernels_of_a_stream_add_up() {
  SliceRecords records;
  records.begin({stream(0, 1, 2), stream(1, 1, 2)}, 0, 0);
  records.add({stream(0, 480, 499, 100), stream(1, 485, 490, 5)}, 495 * kMs);
  records.add({stream(1, 491, 499, 20)}, 499 * kMs);
  records.end(kOff);
  const auto window = records.window(0);
  CHECK(window && window->start_ns == 485 * kMs);
}

uint64_t number_in(const std::string& fact, const std::string& member) {
  const std::size_t at = fact.find("\"" + member + "\":");
  CHECK(at != std::string::npos);
  return std::stoull(fact.substr(at + member.size() + 3));
}

// What a slice says holds for the truth, and every kernel is counted once.
void lite_mode_records_slices() {
  setenv("WAVESCOPE_SLICE_MS", "5", 1);
  setenv("WAVESCOPE_SLICE_PERIOD_MS", "20", 1);
  Recording recording("lite");
  recording.begin();
  std::vector<uint64_t> begins;
  wait_until([&] {
    begins.push_back(ticks() - kAhead);
    launch();
    return recording.facts("slice").size() >= 3;
  });
  CHECK(recording.collector->finish(30000000000));

  const auto ops = recording.ops();
  const WavescopeCounterRecord counters = recording.counters();
  CHECK(counters.seen == begins.size());
  CHECK(counters.timed == ops.size());
  CHECK(counters.skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] + counters.timed == counters.seen);
  CHECK(counters.skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] > 0 && counters.timed > 0);
  uint64_t last_end = 0;
  for (const std::string& slice : recording.facts("slice")) {
    const uint64_t start = number_in(slice, "start_ns"), end = number_in(slice, "end_ns");
    CHECK(start < end && start >= last_end);
    last_end = end;
    std::size_t recorded = 0, launched = 0;
    for (const auto& op : ops) recorded += op.op.start - kAhead >= start && op.op.start - kAhead < end ? 1 : 0;
    // A launch began a little before its kernel; none between two launches in the slice is missing.
    for (const uint64_t begin : begins) launched += begin >= start && begin < end ? 1 : 0;
    CHECK(recorded + 1 >= launched);
    CHECK(recorded <= launched + 1);
  }
  // Of copies and graphs there is nothing: CUPTI does not survive that those are switched.
  const auto log = take_log();
  CHECK(log[0] == "subscribe" && log[3] == "enable 10" && log[4] == "disable 10");
  for (const std::string& call : log)
    CHECK(call.find("able ") == std::string::npos || call.find(" 10") != std::string::npos);
}

// All that is not of graphs, and graphs as a whole, from the beginning on and never switched.
void slices_may_be_off() {
  setenv("WAVESCOPE_SLICE_MS", "0", 1);
  Recording recording("lite");
  recording.begin();
  const std::vector<std::string> begun = {"subscribe", "attribute 5 1", "register", "enable 51",
                                          "enable 10", "enable 1",      "enable 2", "enable 22"};
  CHECK(take_log() == begun);
  for (int at = 0; at < 3; ++at) launch();
  Session::current()->control().pause();
  wait_until([] { return has_logged("forced flush"); });
  const uint64_t skipped = launches_until_finalized();
  Session::current()->control().resume();
  wait_until([] {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().kinds.count(CuptiActivityKind::kMemcpyPeer) != 0;
  });
  CHECK(recording.collector->finish(30000000000));
  for (const std::string& call : take_log()) CHECK(call.find(" 51") == std::string::npos);
  CHECK(recording.counters().timed == 3 && recording.counters().skipped[WAVESCOPE_SKIP_PAUSED] == skipped);
  CHECK(recording.facts("slice").empty());
  const auto notes = recording.facts("note");
  CHECK(notes.size() == 1 && notes[0].find("runs of whole graphs not recorded after a pause") != std::string::npos);
}

void graphs_are_not_begun_late() {
  setenv("WAVESCOPE_SLICE_MS", "0", 1);
  setenv("WAVESCOPE_START_PAUSED", "1", 1);
  Recording recording("lite");
  recording.begin();
  Session::current()->control().resume();
  wait_until([] {
    const std::lock_guard<std::mutex> lock(state().mutex);
    return state().kinds.count(CuptiActivityKind::kMemcpyPeer) != 0;
  });
  CHECK(recording.collector->finish(30000000000));
  for (const std::string& call : take_log()) CHECK(call.find(" 51") == std::string::npos);
}

// Nothing is launched: that is known of the slices' times.
void slices_of_an_idle_program_say_so() {
  setenv("WAVESCOPE_SLICE_MS", "2", 1);
  setenv("WAVESCOPE_SLICE_PERIOD_MS", "4", 1);
  Recording recording("lite");
  recording.begin();
  wait_until([&] { return recording.facts("slice").size() >= 3; });
  CHECK(recording.collector->finish(30000000000));
  CHECK(recording.ops().empty() && recording.facts("note").empty());
  uint64_t last_end = 0;
  for (const std::string& slice : recording.facts("slice")) {
    CHECK(number_in(slice, "start_ns") > last_end && number_in(slice, "end_ns") > number_in(slice, "start_ns"));
    last_end = number_in(slice, "end_ns");
  }
}

}  // namespace

int main() {
  windows_hold_for_all_streams();
  what_was_left_out_ends_them();
  light_and_new_streams_do_not_narrow_them();
  slices_come_at_their_time();
  an_idle_program_has_windows_too();
  slices_jitter_around_their_period();
  records_are_in_when_nothing_is_missing_or_comes();
  kernels_of_a_stream_add_up();
  in_child(lite_mode_records_slices);
  in_child(slices_may_be_off);
  in_child(graphs_are_not_begun_late);
  in_child(slices_of_an_idle_program_say_so);
  return 0;
}
