// Buffers of CUPTI as op records: every kind of record, in the layouts of several versions.
#include <cstdint>
#include <string>
#include <vector>

#include "check.h"
#include "cupti_fixture.h"

// A session is never destroyed.
extern "C" __attribute__((visibility("default"))) const char* __asan_default_options() { return "detect_leaks=0"; }

namespace wavescope::cupti {
namespace {

constexpr uint32_t kHost = 0xffffffff;

void a_kernel_keeps_what_cupti_says() {
  DecodingProcess process;
  KernelRecord record = a_kernel("_Z4gemmPf", 1000, 1500);
  record.device = 3;
  record.context = 2;
  record.stream = 21;
  record.correlation = 77;
  record.registers_per_thread = 168;
  record.static_shared_bytes = 1024;
  record.dynamic_shared_bytes = 98304;
  record.local_bytes_per_thread = 16;
  const int32_t grid[] = {132, 65536, 5}, block[] = {128, 2, 3};
  std::memcpy(record.grid, grid, sizeof grid);
  std::memcpy(record.block, block, sizeof block);
  record.graph_node = 0x100000005;
  record.graph = 9;
  process.notes.put(77, LaunchNote{4711, 12});
  process.decode(Buffer().add(record));

  const auto ops = process.ops();
  CHECK(ops.size() == 1);
  const WavescopeOpRecord& op = ops[0].op;
  CHECK(op.kind == WAVESCOPE_OP_DISPATCH && op.gpu == 3 && op.queue == 0);
  CHECK(op.flags == (WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_BLOCKS | WAVESCOPE_OP_GRAPH));
  CHECK(op.start == 1000 && op.end == 1500);
  CHECK(op.correlation == 77 && op.thread == 4711 && op.marker == 12);
  CHECK(op.grid[0] == 132 && op.grid[1] == 65536 && op.grid[2] == 5);
  CHECK(op.workgroup[0] == 128 && op.workgroup[1] == 2 && op.workgroup[2] == 3);
  CHECK(ops[0].graph_node == 0x100000005 && ops[0].graph == 9);
  const auto kernels = process.recorded.facts("\"fact\":\"kernel\"");
  CHECK(kernels.size() == 1);
  CHECK(kernels[0] == Fact("kernel")
                          .add("object", op.kernel)
                          .add("name", "_Z4gemmPf")
                          .add("vgprs", 168)
                          .add("lds_bytes", 99328)
                          .add("scratch_bytes", 16)
                          .line());
  const auto queues = process.recorded.facts("\"fact\":\"queue\"");
  CHECK(queues.size() == 1);
  CHECK(queues[0] ==
        Fact("queue").add("queue", 0).add("gpu", 3).add("stream", 21).add("context", 2).add("name", "stream 21").line());
  CHECK(process.counters(3).timed == 1 && process.counters(3).seen == 0);
  CHECK(process.decoder.gpus() == 8);
}

void a_launch_outside_of_graphs_has_no_node() {
  DecodingProcess process;
  KernelRecord node = a_kernel("k", 10, 10);
  node.graph_node = 3;
  process.decode(Buffer().add(a_kernel("k", 10, 10)).add(node));
  const auto ops = process.ops();
  CHECK(ops.size() == 2 && ops[0].graph == 0 && ops[0].graph_node == 0);
  CHECK(ops[1].graph_node == 3 && (ops[1].op.flags & WAVESCOPE_OP_GRAPH) != 0);
  CHECK(ops[0].op.flags == (WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_BLOCKS));
  CHECK(ops[0].op.start == 10 && ops[0].op.end == 10 && ops[0].op.correlation == 0 && ops[0].op.thread == 0);
}

// The kind of a copy tells where it goes; where CUPTI does not know it, the kinds of memory do.
void copies_go_where_their_kind_says() {
  struct Case {
    CopyKind kind;
    MemoryKind source, target;
    uint32_t expected_source, expected_target;
  };
  constexpr MemoryKind kAny = MemoryKind::kUnknown;
  const std::vector<Case> cases = {
      {CopyKind::kHostToDevice, kAny, kAny, kHost, 2},
      {CopyKind::kDeviceToHost, kAny, kAny, 2, kHost},
      {CopyKind::kHostToArray, kAny, kAny, kHost, 2},
      {CopyKind::kArrayToHost, kAny, kAny, 2, kHost},
      {CopyKind::kArrayToArray, kAny, kAny, 2, 2},
      {CopyKind::kArrayToDevice, kAny, kAny, 2, 2},
      {CopyKind::kDeviceToArray, kAny, kAny, 2, 2},
      {CopyKind::kDeviceToDevice, kAny, kAny, 2, 2},
      {CopyKind::kHostToHost, kAny, kAny, kHost, kHost},
      {CopyKind::kUnknown, MemoryKind::kPageable, MemoryKind::kDevice, kHost, 2},
      {CopyKind::kUnknown, MemoryKind::kManaged, MemoryKind::kPinned, 2, kHost},
      {CopyKind::kUnknown, kAny, kAny, 2, 2},
  };
  DecodingProcess process;
  Buffer buffer;
  for (const Case& each : cases) {
    MemcpyRecord record = a_copy(each.kind, 4096, 100, 300);
    record.device = 2;
    record.source_kind = each.source;
    record.target_kind = each.target;
    buffer.add(record);
  }
  process.decode(buffer);
  const auto ops = process.ops();
  CHECK(ops.size() == cases.size());
  for (std::size_t at = 0; at < cases.size(); ++at) {
    const WavescopeOpRecord& op = ops[at].op;
    CHECK(op.kind == WAVESCOPE_OP_COPY && op.gpu == 2 && op.kernel == 4096 && op.flags == WAVESCOPE_OP_RAW_TICKS);
    CHECK(op.grid[0] == cases[at].expected_source && op.grid[1] == cases[at].expected_target && op.grid[2] == 0xffffffff);
    CHECK(op.start == 100 && op.end == 300 && op.queue == 0);
  }
  CHECK(process.counters(2).timed == 0);
}

void other_kinds_are_on_the_queues_of_their_streams() {
  DecodingProcess process;
  MemcpyPeerRecord peer{};
  peer.kind = CuptiActivityKind::kMemcpyPeer;
  peer.copy_kind = CopyKind::kPeer;
  peer.bytes = uint64_t{1} << 33;
  peer.start = 5;
  peer.end = 9;
  peer.device = 0;
  peer.context = 1;
  peer.stream = 7;
  peer.source_device = 0;
  peer.target_device = 3;
  peer.correlation = 5;
  MemsetRecord fill{};
  fill.kind = CuptiActivityKind::kMemset;
  fill.value = 255;
  fill.bytes = 512;
  fill.start = 20;
  fill.end = 21;
  fill.context = 1;
  fill.stream = 13;
  fill.correlation = 6;
  fill.graph_node = 4;
  fill.graph = 2;
  GraphTraceRecord run{};
  run.kind = CuptiActivityKind::kGraphTrace;
  run.start = 30;
  run.end = 40;
  run.graph = 12;
  run.context = 1;
  run.stream = 7;
  run.correlation = 8;
  process.decode(Buffer().add(peer).add(fill).add(run));

  const auto ops = process.ops();
  CHECK(ops.size() == 3);
  CHECK(ops[0].op.kind == WAVESCOPE_OP_COPY && ops[0].op.kernel == uint64_t{1} << 33 && ops[0].op.queue == 0);
  CHECK(ops[0].op.grid[0] == 0 && ops[0].op.grid[1] == 3 && ops[0].op.correlation == 5);
  CHECK(ops[1].op.kind == WAVESCOPE_OP_FILL && ops[1].op.kernel == 512 && ops[1].op.queue == 1);
  CHECK(ops[1].op.start == 20 && ops[1].op.end == 21 && ops[1].op.correlation == 6);
  CHECK(ops[1].graph_node == 4 && ops[1].graph == 2 && ops[1].op.flags == (WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_GRAPH));
  CHECK(ops[2].op.kind == WAVESCOPE_OP_GRAPH_RUN && ops[2].graph == 12 && ops[2].graph_node == 0 && ops[2].op.queue == 0);
  CHECK(ops[2].op.start == 30 && ops[2].op.end == 40 && ops[2].op.correlation == 8 && ops[2].op.kernel == 0);
  CHECK(ops[2].op.flags == WAVESCOPE_OP_RAW_TICKS);
  CHECK(process.counters().timed == 0);
}

// They are counted, and those that are known to be of no use are not.
void unknown_kinds_are_noted_once() {
  DecodingProcess process;
  const auto other = [](uint32_t kind) { return CuptiActivity{static_cast<CuptiActivityKind>(kind)}; };
  Buffer buffer;
  buffer.add(other(57)).add(a_kernel("k", 1, 2)).add(other(38)).add(other(49)).add(other(57)).add(other(900));
  process.decode(buffer);
  process.decode(buffer);
  process.decoder.finish();
  process.decoder.finish();
  CHECK(process.ops().size() == 2);
  const auto notes = process.recorded.facts("\"fact\":\"note\"");
  CHECK(notes.size() == 2);
  const std::string begin = "records of CUPTI not read: their kind ", end = " is not known here";
  CHECK(notes[0] == Fact("note").add("text", begin + "57" + end).add("count", 4).line());
  CHECK(notes[1] == Fact("note").add("text", begin + "900" + end).add("count", 2).line());
}

void the_file_says_how_long_its_records_are() {
  DecodingProcess process;
  const WavescopeStreamHeader header = process.recorded.header("ops");
  CHECK(header.record_bytes == 80 && header.stream == WAVESCOPE_STREAM_OPS);
  CHECK(process.decoder.gpus() == 0);
}

}  // namespace
}  // namespace wavescope::cupti

int main() {
  using namespace wavescope::cupti;
  for (const Layout& each : kLayouts) {
    layout = each;
    in_child(a_kernel_keeps_what_cupti_says);
    in_child(copies_go_where_their_kind_says);
    in_child(other_kinds_are_on_the_queues_of_their_streams);
    in_child(unknown_kinds_are_noted_once);
  }
  in_child(a_launch_outside_of_graphs_has_no_node);
  in_child(the_file_says_how_long_its_records_are);
  return 0;
}
