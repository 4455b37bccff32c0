// What is lost and what is counted: times that are not there, records that are not whole, files that are full, launches
// that were skipped.
#include <cstdint>
#include <cstdlib>

#include "check.h"
#include "cupti_fixture.h"

// A session is never destroyed.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace wavescope::cupti {
namespace {

void times_that_are_not_there_are_lost() {
  DecodingProcess process;
  GraphTraceRecord run{};
  run.kind = CuptiActivityKind::kGraphTrace;
  Buffer buffer;
  buffer.add(a_kernel("k", 0, 0)).add(a_kernel("k", 0, 90)).add(a_kernel("k", 90, 0)).add(a_kernel("k", 90, 89));
  buffer.add(a_kernel("k", 90, 91)).add(a_copy(CopyKind::kHostToDevice, 8, 0, 0)).add(run);
  process.decode(buffer);
  const auto ops = process.ops();
  CHECK(ops.size() == 7);
  for (int at : {0, 1, 2, 3}) {
    const WavescopeOpRecord& op = ops[static_cast<std::size_t>(at)].op;
    CHECK(op.flags == (WAVESCOPE_OP_TIMES_LOST | WAVESCOPE_OP_BLOCKS) && op.start == 0 && op.end == 0 && op.kernel == 1);
  }
  CHECK(ops[4].op.flags == (WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_BLOCKS));
  CHECK(ops[5].op.flags == WAVESCOPE_OP_TIMES_LOST && ops[6].op.flags == WAVESCOPE_OP_TIMES_LOST);
  CHECK(process.counters().timed == 1 && process.counters().lost[WAVESCOPE_LOSS_TIMESTAMPS] == 4);
}

void records_tell_how_their_launches_were_counted() {
  DecodingProcess process;
  constexpr Skipping kOutside{WAVESCOPE_SKIP_OUTSIDE_SLICES};
  process.coverage.add_seen(0, 4);
  process.coverage.add_skipped(0, WAVESCOPE_SKIP_OUTSIDE_SLICES, 3);
  process.notes.put(1, LaunchNote{10, 0, kOutside, false});
  CHECK(process.notes.skip(1, kOutside, 2) == 0);
  process.notes.put(2, LaunchNote{10, 0, {}, true});
  process.notes.put(3, LaunchNote{10, 5, {}, false});
  const auto launched = [](uint32_t correlation, uint64_t start) {
    KernelRecord record = a_kernel("k", start, 50);
    record.correlation = correlation;
    return record;
  };
  Buffer buffer;
  buffer.add(launched(1, 40)).add(launched(1, 0));  // one of two has no times: it stays skipped
  buffer.add(launched(2, 41)).add(launched(2, 42)).add(launched(2, 0));
  buffer.add(launched(3, 43)).add(launched(0, 44)).add(launched(4, 45));
  process.decode(buffer);
  const WavescopeCounterRecord counters = process.counters();
  CHECK(counters.skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 2);
  CHECK(counters.seen == 4 + 3 + 2 && counters.timed == 1 + 2 + 1 + 1 + 1);
  CHECK(counters.lost[WAVESCOPE_LOSS_TIMESTAMPS] == 1);
  const auto ops = process.ops();
  CHECK(ops.size() == 8);
  CHECK(ops[5].op.thread == 10 && ops[5].op.marker == 5 && ops[4].op.marker == 0);
  CHECK(ops[6].op.thread == 0 && ops[6].op.marker == 0 && ops[7].op.thread == 0);
}

// Nothing was counted of a graph whose kernels are not known, not as skipped either: a kernel that comes is one more.
void kernels_of_unknown_graphs_are_not_taken_from_the_skipped() {
  DecodingProcess process;
  process.notes.put(1, LaunchNote{10, 0, Skipping{WAVESCOPE_SKIP_OUTSIDE_SLICES}, true});
  KernelRecord record = a_kernel("k", 40, 50), without_times = a_kernel("k", 0, 50);
  record.correlation = without_times.correlation = 1;
  process.decode(Buffer().add(record).add(without_times));
  const WavescopeCounterRecord counters = process.counters();
  CHECK(counters.seen == 2 && counters.timed == 1 && counters.lost[WAVESCOPE_LOSS_TIMESTAMPS] == 1);
  CHECK(counters.skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 0);
}

// A graph that was launched while records were on writes its times again with each later launch.
void nodes_with_the_end_of_a_later_launch_are_skipped() {
  DecodingProcess process;
  process.coverage.add_seen(0, 7);
  const auto node = [](uint64_t start, uint64_t end, uint64_t number, uint32_t correlation = 1) {
    KernelRecord record = a_kernel("k", start, end);
    record.graph_node = number;
    record.correlation = correlation;
    return record;
  };
  process.notes.put(1, LaunchNote{10, 0});
  process.notes.put(2, LaunchNote{10, 0, {}, true});
  process.notes.put(3, LaunchNote{10, 0});
  RecordedTime& time = process.notes.recorded_time();
  process.decode(Buffer().add(node(900, 2000, 7)));  // not off yet
  time.goes_off(1000, true);
  process.decode(Buffer().add(node(900, 2000, 7, 3)));  // a launch that no other one followed
  process.notes.overwrite(1);
  process.notes.overwrite(2);
  MemcpyRecord copy = a_copy(CopyKind::kHostToDevice, 8, 900, 2000);
  copy.graph_node = 9;
  copy.correlation = 1;
  MemsetRecord fill{};
  fill.kind = CuptiActivityKind::kMemset;
  fill.start = 900;
  fill.end = 2000;
  fill.graph_node = 9;
  fill.correlation = 1;
  process.decode(Buffer().add(node(900, 1000, 7)).add(node(950, 1001, 8)).add(node(1200, 1300, 9)).add(copy).add(fill));
  process.decode(Buffer().add(node(950, 1001, 0)));  // a launch of its own has its own times
  CHECK(process.ops().size() == 4);
  CHECK(process.counters().timed == 4 && process.counters().skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 2);
  const auto starts = process.decoder.take_kernel_starts();
  CHECK(starts.size() == 1 && starts[0].kernels == 4 && starts[0].left_out == 2 && starts[0].last == 950);
  time.is_on(5000);
  process.decode(Buffer().add(node(5000, 5001, 7)).add(node(4999, 6000, 8, 2)));
  time.goes_off(7000, false);
  process.decode(Buffer().add(node(6999, 7000, 7)).add(node(6999, 7001, 8)));
  const WavescopeCounterRecord counters = process.counters();
  CHECK(process.ops().size() == 6 && counters.timed == 6);
  CHECK(counters.skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 3 && counters.skipped[WAVESCOPE_SKIP_PAUSED] == 1);
  CHECK(counters.seen == 8);  // of the graph whose kernels are not known each counts when it comes
}

// Correlation ids that CUPTI gives out again after it was finalized are others.
void runs_of_graphs_in_a_pause_are_left_out() {
  DecodingProcess process;
  process.notes.put(1, LaunchNote{10, 0, Skipping{WAVESCOPE_SKIP_GRAPH_BATCH}, false});
  process.notes.put(2, LaunchNote{10, 0, Skipping{WAVESCOPE_SKIP_PAUSED}, false});
  GraphTraceRecord run{};
  run.kind = CuptiActivityKind::kGraphTrace;
  run.start = 5;
  run.end = 6;
  run.correlation = 1;
  Buffer buffer;
  buffer.add(run);
  run.correlation = 2;
  buffer.add(run);
  process.decode(buffer);
  const auto ops = process.ops();
  CHECK(ops.size() == 1 && ops[0].op.correlation == 1 && ops[0].op.kind == WAVESCOPE_OP_GRAPH_RUN);
}

void epochs_keep_correlation_ids_apart() {
  DecodingProcess process;
  KernelRecord record = a_kernel("k", 1, 2);
  record.correlation = 9;
  process.notes.put(9, LaunchNote{10, 3});
  process.decode(Buffer().add(record));
  process.notes.begin_epoch();
  process.decode(Buffer().add(record));
  process.notes.put(9, LaunchNote{11, 4});
  process.decode(Buffer().add(record));
  const auto ops = process.ops();
  CHECK(ops.size() == 3);
  CHECK(ops[0].op.correlation == 9 && ops[0].op.thread == 10 && ops[0].op.marker == 3);
  CHECK(ops[1].op.correlation == (uint64_t{1} << 32 | 9) && ops[1].op.thread == 0);
  CHECK(ops[2].op.correlation == (uint64_t{1} << 32 | 9) && ops[2].op.thread == 11 && ops[2].op.marker == 4);
}

Buffer three_kernels() { return Buffer().add(a_kernel("k", 1, 2)).add(a_kernel("k", 3, 4)).add(a_kernel("k", 5, 6)); }

std::size_t malformed_noted(const DecodingProcess& process, uint64_t count) {
  return process.recorded.facts(Fact("note").add("text", "malformed records of CUPTI not read").add("count", count).line())
      .size();
}

// Whatever the length says, what is behind it is not read: the buffer is a block of memory of just that size.
void a_buffer_may_end_anywhere() {
  DecodingProcess process;
  const Buffer whole = three_kernels();
  uint64_t expected = 0, cut = 0;
  for (std::size_t bytes = 0; bytes <= whole.bytes(); ++bytes) {
    auto* part = static_cast<uint8_t*>(std::malloc(bytes == 0 ? 1 : bytes));
    std::memcpy(part, whole.data(), bytes);
    // CUPTI's own walk reads the kind of what it returns.
    if (bytes % layout.kernel == 0 || bytes % layout.kernel >= sizeof(CuptiActivityKind)) {
      process.decoder.decode(part, bytes);
      expected += (bytes + layout.kernel - sizeof(KernelRecord)) / layout.kernel;
      cut += bytes % layout.kernel != 0 && bytes % layout.kernel < sizeof(KernelRecord) ? 1 : 0;
    }
    std::free(part);
  }
  CHECK(cut > 0 && process.ops().size() == expected);
  process.decoder.finish();
  CHECK(malformed_noted(process, cut) == 1);
}

void zeros_end_the_walk() {
  DecodingProcess process;
  Buffer buffer = three_kernels();
  buffer.add(CuptiActivity{CuptiActivityKind::kInvalid}).add(a_kernel("k", 7, 8));
  process.decode(buffer);
  process.decoder.decode(nullptr, 100);
  process.decoder.decode(buffer.data(), 0);
  CHECK(process.ops().size() == 3);
  process.decoder.finish();
  CHECK(malformed_noted(process, 1) == 1);
}

CuptiResult always_the_same(uint8_t* buffer, std::size_t, CuptiActivity** record) {
  *record = reinterpret_cast<CuptiActivity*>(buffer);
  return CuptiResult::kSuccess;
}

CuptiResult beyond_the_end(uint8_t* buffer, std::size_t bytes, CuptiActivity** record) {
  const bool is_first = *record == nullptr;
  *record = reinterpret_cast<CuptiActivity*>(is_first ? buffer : buffer + bytes - 2);
  return CuptiResult::kSuccess;
}

CuptiResult before_the_begin(uint8_t* buffer, std::size_t, CuptiActivity** record) {
  const bool is_first = *record == nullptr;
  *record = reinterpret_cast<CuptiActivity*>(is_first ? buffer : buffer - 8);
  return CuptiResult::kSuccess;
}

CuptiResult nowhere(uint8_t*, std::size_t, CuptiActivity** record) {
  *record = nullptr;
  return CuptiResult::kSuccess;
}

template <typename Walk>
void a_walk_that_goes_wrong_ends(Walk walk, std::size_t ops_before) {
  in_child([&] {
    DecodingProcess process(walk);
    process.decode(three_kernels());
    CHECK(process.ops().size() == ops_before);
    process.decoder.finish();
    CHECK(malformed_noted(process, 1) == 1);
  });
}

void numbers_that_cannot_be_are_no_harm() {
  DecodingProcess process;
  KernelRecord far = a_kernel("k", 1, 2);
  far.device = 0xffffffff;
  KernelRecord odd = a_kernel("k", 3, UINT64_MAX);
  odd.device = 0xfffe;
  odd.grid[0] = -5;
  odd.block[0] = -1;
  odd.block[1] = 1 << 20;
  odd.static_shared_bytes = -1;
  odd.dynamic_shared_bytes = 64;
  odd.correlation = 0xffffffff;
  process.decode(Buffer().add(far).add(odd));
  const auto ops = process.ops();
  CHECK(ops.size() == 1 && ops[0].op.gpu == 0xfffe && ops[0].op.end == UINT64_MAX);
  CHECK(ops[0].op.grid[0] == 0 && ops[0].op.workgroup[0] == 0 && ops[0].op.workgroup[1] == 0xffff);
  CHECK(ops[0].op.correlation == 0xffffffff);
  CHECK(process.recorded.facts("\"lds_bytes\":64").size() == 1);
  CHECK(process.decoder.gpus() == uint64_t{1} << 63);
  process.decoder.finish();
  CHECK(malformed_noted(process, 1) == 1);
}

// Kernels that no longer fit into the file are lost, and the counters say why.
void a_full_file_loses_what_comes_after() {
  setenv("WAVESCOPE_MAX_BYTES", "400000", 1);
  DecodingProcess process;
  Buffer buffer;
  for (uint64_t at = 1; at <= 1000; ++at) buffer.add(a_kernel("k", at, at + 1));
  for (int round = 0; round < 10; ++round) process.decode(buffer);
  const WavescopeCounterRecord counters = process.counters();
  const std::size_t written = process.ops().size();
  CHECK(written > 0 && written < 10000 && counters.timed == written);
  CHECK(counters.lost[WAVESCOPE_LOSS_SIZE_LIMIT] == 10000 - written);
}

}  // namespace
}  // namespace wavescope::cupti

int main() {
  using namespace wavescope::cupti;
  in_child(times_that_are_not_there_are_lost);
  in_child(records_tell_how_their_launches_were_counted);
  in_child(kernels_of_unknown_graphs_are_not_taken_from_the_skipped);
  in_child(nodes_with_the_end_of_a_later_launch_are_skipped);
  in_child(runs_of_graphs_in_a_pause_are_left_out);
  in_child(epochs_keep_correlation_ids_apart);
  in_child(a_buffer_may_end_anywhere);
  in_child(zeros_end_the_walk);
  a_walk_that_goes_wrong_ends(always_the_same, 1);
  a_walk_that_goes_wrong_ends(beyond_the_end, 1);
  a_walk_that_goes_wrong_ends(before_the_begin, 1);
  a_walk_that_goes_wrong_ends(nowhere, 0);
  in_child(numbers_that_cannot_be_are_no_harm);
  in_child(a_full_file_loses_what_comes_after);
  return 0;
}
