#include "cupti_records.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace played {
namespace {

using abi::CuptiActivityKind;

constexpr CuptiActivityKind kUnknownKind{99};
constexpr bool kIs13 = PLAYED_CUPTI_VERSION >= abi::kVersion13_0;

// In the later version kernels, copies and fills have more at their end.
constexpr std::pair<CuptiActivityKind, std::size_t> kBytes[] = {
    {CuptiActivityKind::kMemcpy, kIs13 ? 112 : 96},
    {CuptiActivityKind::kMemset, kIs13 ? 104 : 88},
    {CuptiActivityKind::kMemcpyPeer, 96},
    {CuptiActivityKind::kDriver, 40},
    {CuptiActivityKind::kRuntime, 40},
    {CuptiActivityKind::kGraphTrace, 56},
    {kUnknownKind, 64},
};
constexpr std::size_t kKernelBytes = kIs13 ? 248 : 208;

struct CallActivity {
  CuptiActivityKind kind;
  uint32_t id;
  uint64_t start, end;
  uint32_t process, thread, correlation, result;
};

// What is behind the part that all versions share is not zero either.
template <typename Layout>
Record a_record(const Layout& layout) {
  Record record;
  record.bytes = bytes_of(layout.kind);
  std::memset(record.data, 0x5a, record.bytes);
  std::memcpy(record.data, &layout, std::min(sizeof layout, record.bytes));
  return record;
}

template <typename Layout>
Record timed(const Layout& layout, uint64_t end_ns) {
  Record record = a_record(layout);
  record.end_ns = end_ns;
  record.times_at = offsetof(Layout, start);
  static_assert(offsetof(Layout, end) == offsetof(Layout, start) + 8, "times are side by side");
  return record;
}

template <typename Layout>
void fill_in(Layout& layout, const Op& op) {
  layout.start = cupti_ns(op.start_ns);
  layout.end = cupti_ns(op.end_ns);
  layout.device = op.gpu;
  layout.context = op.context;
  layout.stream = op.stream;
  layout.correlation = op.correlation;
  layout.graph = op.graph;
}

Record kernel_record(const Op& op) {
  abi::KernelRecord layout{};
  layout.kind = CuptiActivityKind::kConcurrentKernel;
  fill_in(layout, op);
  layout.registers_per_thread = op.kernel.registers;
  layout.completed = layout.end;
  layout.grid[0] = op.grid.x;
  layout.grid[1] = op.grid.y;
  layout.grid[2] = op.grid.z;
  layout.block[0] = op.block.x;
  layout.block[1] = op.block.y;
  layout.block[2] = op.block.z;
  layout.static_shared_bytes = op.kernel.static_shared_bytes;
  layout.dynamic_shared_bytes = op.dynamic_shared_bytes;
  layout.local_bytes_per_thread = op.kernel.local_bytes;
  layout.name = op.kernel.name;
  layout.graph_node = op.node;
  return timed(layout, op.end_ns);
}

bool is_from_host(abi::CopyKind kind) { return kind == abi::CopyKind::kHostToDevice || kind == abi::CopyKind::kHostToHost; }
bool is_to_host(abi::CopyKind kind) { return kind == abi::CopyKind::kDeviceToHost || kind == abi::CopyKind::kHostToHost; }

template <typename Layout>
void fill_in_copy(Layout& layout, const Op& op) {
  fill_in(layout, op);
  layout.copy_kind = op.copy_kind;
  layout.source_kind = is_from_host(op.copy_kind) ? abi::MemoryKind::kPageable : abi::MemoryKind::kDevice;
  layout.target_kind = is_to_host(op.copy_kind) ? abi::MemoryKind::kPageable : abi::MemoryKind::kDevice;
  layout.bytes = op.bytes;
  layout.graph_node = op.node;
}

Record copy_record(const Op& op) {
  if (op.copy_kind == abi::CopyKind::kPeer) {
    abi::MemcpyPeerRecord layout{};
    layout.kind = CuptiActivityKind::kMemcpyPeer;
    fill_in_copy(layout, op);
    layout.source_device = op.gpu;
    layout.target_device = op.target_gpu;
    return timed(layout, op.end_ns);
  }
  abi::MemcpyRecord layout{};
  layout.kind = CuptiActivityKind::kMemcpy;
  fill_in_copy(layout, op);
  return timed(layout, op.end_ns);
}

Record fill_record(const Op& op) {
  abi::MemsetRecord layout{};
  layout.kind = CuptiActivityKind::kMemset;
  fill_in(layout, op);
  layout.bytes = op.bytes;
  layout.value = op.value;
  layout.graph_node = op.node;
  return timed(layout, op.end_ns);
}

Record graph_record(const Op& op) {
  abi::GraphTraceRecord layout{};
  layout.kind = CuptiActivityKind::kGraphTrace;
  fill_in(layout, op);
  return timed(layout, op.end_ns);
}

}  // namespace

void Record::forget_times() {
  if (times_at != 0) std::memset(data + times_at, 0, 16);
}

void Record::invert_times() { std::swap_ranges(data + times_at, data + times_at + 8, data + times_at + 8); }

std::size_t bytes_of(CuptiActivityKind kind) {
  if (kind == CuptiActivityKind::kConcurrentKernel) return kKernelBytes + setting("longer", 0) / 8 * 8;
  for (const auto& [known, bytes] : kBytes) {
    if (known == kind) return bytes;
  }
  return 0;
}

Record record_of(const Op& op) {
  switch (op.kind) {
    case OpKind::kCopy: return copy_record(op);
    case OpKind::kFill: return fill_record(op);
    case OpKind::kGraph: return graph_record(op);
    default: return kernel_record(op);
  }
}

Record unknown_record() { return a_record(abi::CuptiActivity{kUnknownKind}); }

Record call_record(const Call& call, uint64_t end_ns) {
  CallActivity layout{};
  const bool is_runtime = call.domain == abi::CuptiCallbackDomain::kRuntimeApi;
  layout.kind = is_runtime ? CuptiActivityKind::kRuntime : CuptiActivityKind::kDriver;
  layout.id = call.id;
  layout.start = cupti_ns(call.start_ns);
  layout.end = cupti_ns(end_ns);
  layout.process = static_cast<uint32_t>(getpid());
  layout.thread = static_cast<uint32_t>(syscall(SYS_gettid));
  layout.correlation = call.correlation;
  layout.result = static_cast<uint32_t>(*call.result);
  return timed(layout, end_ns);
}

}  // namespace played
