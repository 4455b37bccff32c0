#include "collector_cupti/activity_decoder.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <string>
#include <type_traits>

namespace wavescope::cupti {
namespace {

constexpr uint32_t kHost = 0xffffffff;
constexpr uint32_t kNoEngine = 0xffffffff;
constexpr uint32_t kMostGpus = 0xffff;

// Kinds that may come and are of no use here: they were asked for by somebody else, or are calls, which callbacks record.
bool is_left_out(CuptiActivityKind kind) {
  switch (kind) {
    case CuptiActivityKind::kDriver:
    case CuptiActivityKind::kRuntime:
    case CuptiActivityKind::kDevice:
    case CuptiActivityKind::kContext:
    case CuptiActivityKind::kName:
    case CuptiActivityKind::kOverhead:
    case CuptiActivityKind::kDeviceAttribute:
    case CuptiActivityKind::kStream:
    case CuptiActivityKind::kSynchronization:
    case CuptiActivityKind::kExternalCorrelation:
    case CuptiActivityKind::kInternalLaunch:
    case CuptiActivityKind::kMemory:
    case CuptiActivityKind::kMemoryPool: return true;
    default: return false;
  }
}

bool is_host(MemoryKind kind) { return kind == MemoryKind::kPageable || kind == MemoryKind::kPinned; }

bool reads_host(const MemcpyRecord& copy) {
  switch (copy.copy_kind) {
    case CopyKind::kHostToDevice:
    case CopyKind::kHostToArray:
    case CopyKind::kHostToHost: return true;
    case CopyKind::kUnknown: return is_host(copy.source_kind);
    default: return false;
  }
}

bool writes_host(const MemcpyRecord& copy) {
  switch (copy.copy_kind) {
    case CopyKind::kDeviceToHost:
    case CopyKind::kArrayToHost:
    case CopyKind::kHostToHost: return true;
    case CopyKind::kUnknown: return is_host(copy.target_kind);
    default: return false;
  }
}

uint16_t clamped(int32_t size) { return static_cast<uint16_t>(std::clamp(size, 0, 0xffff)); }

}  // namespace

ActivityDecoder::ActivityDecoder(Session& session, const CuptiLibrary& library, LaunchNotes& notes, Coverage& coverage)
    : session_(session),
      library_(library),
      notes_(notes),
      batch_(session, coverage),
      kernels_(session.facts()),
      streams_(session.facts()) {}

void ActivityDecoder::decode(const uint8_t* buffer, std::size_t bytes) {
  if (buffer == nullptr || bytes == 0) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  noted_correlation_ = 0;
  kernels_.begin_buffer();
  try {
    decode_all(buffer, bytes);
  } catch (const std::bad_alloc&) {
    ++out_of_memory_;  // this is CUPTI's thread or the program's: neither expects an exception
  }
  batch_.flush();
}

void ActivityDecoder::decode_all(const uint8_t* buffer, std::size_t bytes) {
  auto* const writable = const_cast<uint8_t*>(buffer);
  CuptiActivity* record = nullptr;
  for (std::size_t expected = 0;;) {
    const CuptiResult result = library_.activity_get_next_record(writable, bytes, &record);
    if (result == CuptiResult::kMaxLimitReached) return;
    const auto at = reinterpret_cast<uint64_t>(record) - reinterpret_cast<uint64_t>(buffer);
    const bool is_within = at >= expected && at < bytes && bytes - at >= sizeof(CuptiActivityKind);
    if (result != CuptiResult::kSuccess || !is_within) break;
    CuptiActivityKind kind;
    std::memcpy(&kind, buffer + at, sizeof kind);
    if (!decode_one(kind, buffer + at, bytes - at)) break;
    expected = at + sizeof kind;
  }
  ++malformed_;
}

bool ActivityDecoder::decode_one(CuptiActivityKind kind, const uint8_t* record, std::size_t bytes) {
  switch (kind) {
    case CuptiActivityKind::kKernel:
    case CuptiActivityKind::kConcurrentKernel: return decode_as<KernelRecord>(record, bytes);
    case CuptiActivityKind::kMemcpy: return decode_as<MemcpyRecord>(record, bytes);
    case CuptiActivityKind::kMemcpyPeer: return decode_as<MemcpyPeerRecord>(record, bytes);
    case CuptiActivityKind::kMemset: return decode_as<MemsetRecord>(record, bytes);
    case CuptiActivityKind::kGraphTrace: return decode_as<GraphTraceRecord>(record, bytes);
    default:
      if (!is_left_out(kind)) ++unknown_kinds_[static_cast<uint32_t>(kind)];
      return true;
  }
}

template <typename Record>
bool ActivityDecoder::decode_as(const uint8_t* record, std::size_t bytes) {
  if (bytes < sizeof(Record)) return false;
  Record copy;
  std::memcpy(&copy, record, sizeof copy);
  if (copy.device < kMostGpus) add(copy);
  else ++malformed_;
  return true;
}

// `subject` is what WavescopeOpRecord::kernel is to say. Everything that may fail comes before there is a record.
template <typename Record>
WavescopeGraphOpRecord& ActivityDecoder::add_op(WavescopeOpKind kind, const Record& record, uint64_t subject) {
  const uint16_t queue = streams_.queue_of(record.device, record.context, record.stream);
  const LaunchNote& note = note_of(record.correlation);
  const uint64_t gpu_bit = uint64_t{1} << std::min(record.device, 63u);
  if (__builtin_expect((gpus_.load(std::memory_order_relaxed) & gpu_bit) == 0, 0)) gpus_.fetch_or(gpu_bit);
  WavescopeGraphOpRecord& added = batch_.add();
  WavescopeOpRecord& op = added.op;
  op.kind = kind;
  op.gpu = static_cast<uint16_t>(record.device);
  op.thread = note.thread;
  if (record.start != 0 && record.end >= record.start) {
    op.flags = WAVESCOPE_OP_RAW_TICKS;
    op.start = record.start;
    op.end = record.end;
  } else {
    op.flags = WAVESCOPE_OP_TIMES_LOST;
  }
  op.correlation = record.correlation == 0 ? 0 : notes_.whole(record.correlation);
  op.kernel = subject;
  op.queue = queue;
  op.marker = note.marker;
  added.graph = record.graph;
  if constexpr (!std::is_same_v<Record, GraphTraceRecord>) {
    added.graph_node = record.graph_node;
    if (record.graph_node != 0) op.flags |= WAVESCOPE_OP_GRAPH;
  }
  return added;
}

// It is counted as launched when nothing was recorded, which to its graph was the case from some launch on.
void ActivityDecoder::leave_out(const KernelRecord& record) {
  ++starts_of(streams_.queue_of(record.device, record.context, record.stream)).left_out;
  LaunchNote note = note_of(record.correlation);
  note.skipped = notes_.count_kernel(record.correlation);
  batch_.leave_out_kernel(record.device, note,
                          notes_.recorded_time().is_for_slices() ? WAVESCOPE_SKIP_OUTSIDE_SLICES : WAVESCOPE_SKIP_PAUSED);
}

// Its records come all the same where they could not be turned off.
bool ActivityDecoder::was_launched_in_pause(uint32_t correlation) {
  const Skipping skipped = note_of(correlation).skipped;
  return skipped && skipped.reason() == WAVESCOPE_SKIP_PAUSED;
}

bool ActivityDecoder::is_unwanted(uint32_t correlation) {
  return !library_.switches_records() && was_launched_in_pause(correlation);
}

void ActivityDecoder::add(const KernelRecord& record) {
  if (is_unwanted(record.correlation)) return;
  if (is_overwritten(record)) return leave_out(record);
  WavescopeOpRecord& op = add_op(WAVESCOPE_OP_DISPATCH, record, kernels_.object_of(record)).op;
  op.flags |= WAVESCOPE_OP_BLOCKS;
  for (int axis = 0; axis < 3; ++axis) {
    op.grid[axis] = static_cast<uint32_t>(std::max(record.grid[axis], 0));
    op.workgroup[axis] = clamped(record.block[axis]);
  }
  const bool has_times = (op.flags & WAVESCOPE_OP_TIMES_LOST) == 0;
  note_.skipped = notes_.count_kernel(record.correlation);  // may change while its kernels run
  batch_.count_kernel(record.device, note_, has_times);
  if (!has_times) return;
  KernelStarts& starts = starts_of(op.queue);
  starts.first = std::min(starts.first, op.start);
  starts.last = std::max(starts.last, op.start);
  ++starts.kernels;
}

void ActivityDecoder::add(const MemcpyRecord& record) {
  add_copy(record, reads_host(record) ? kHost : record.device, writes_host(record) ? kHost : record.device);
}

void ActivityDecoder::add(const MemcpyPeerRecord& record) { add_copy(record, record.source_device, record.target_device); }

template <typename Record>
void ActivityDecoder::add_copy(const Record& record, uint32_t source, uint32_t target) {
  if (is_unwanted(record.correlation) || is_overwritten(record)) return;
  WavescopeOpRecord& op = add_op(WAVESCOPE_OP_COPY, record, record.bytes).op;
  op.grid[0] = source;
  op.grid[1] = target;
  op.grid[2] = kNoEngine;
}

void ActivityDecoder::add(const MemsetRecord& record) {
  if (!is_unwanted(record.correlation) && !is_overwritten(record)) add_op(WAVESCOPE_OP_FILL, record, record.bytes);
}

// Records of whole graphs go on while recording pauses: turning them off would harm the program.
void ActivityDecoder::add(const GraphTraceRecord& record) {
  if (!was_launched_in_pause(record.correlation)) add_op(WAVESCOPE_OP_GRAPH_RUN, record, 0);
}

// The nodes of a graph come with one correlation id.
const LaunchNote& ActivityDecoder::note_of(uint32_t correlation) {
  if (correlation != noted_correlation_ || correlation == 0) note_ = notes_.find(correlation);
  noted_correlation_ = correlation;
  return note_;
}

KernelStarts& ActivityDecoder::starts_of(uint16_t queue) {
  while (__builtin_expect(starts_.size() <= queue, 0)) {
    starts_.push_back(KernelStarts{static_cast<uint16_t>(starts_.size()), UINT64_MAX, 0, 0});
  }
  return starts_[queue];
}

std::vector<KernelStarts> ActivityDecoder::take_kernel_starts() {
  const std::lock_guard<std::mutex> lock(mutex_);
  std::vector<KernelStarts> taken;
  for (KernelStarts& starts : starts_) {
    if (starts.kernels == 0 && starts.left_out == 0) continue;
    taken.push_back(starts);
    starts = KernelStarts{starts.queue, UINT64_MAX, 0, 0};
  }
  return taken;
}

void ActivityDecoder::finish() {
  const std::lock_guard<std::mutex> lock(mutex_);
  batch_.trim();
  FactsLog& facts = session_.facts();
  for (const auto& [kind, count] : unknown_kinds_) {
    facts.note("records of CUPTI not read: their kind " + std::to_string(kind) + " is not known here", count);
  }
  unknown_kinds_.clear();
  if (malformed_ != 0) facts.note("malformed records of CUPTI not read", malformed_);
  malformed_ = 0;
  if (out_of_memory_ != 0) facts.note("buffers of CUPTI not read to their end: no memory", out_of_memory_);
  out_of_memory_ = 0;
}

}  // namespace wavescope::cupti
