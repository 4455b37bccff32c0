#include "core/dropped_ops.h"

#include <cstring>

namespace wavescope {
namespace {

constexpr uint64_t kKinds = WAVESCOPE_OP_GRAPH_RUN;  // the last of them
// The other entries are for queues beyond these, one for each kind.
constexpr uint64_t kQueueEntries = WAVESCOPE_DROPPED_OPS - kKinds;

bool is_same(const WavescopeDroppedOps& one, const WavescopeDroppedOps& other) {
  return one.queue == other.queue && one.gpu == other.gpu && one.kind == other.kind;
}

// Dispatches without times are counted as lost.
bool is_counted_here(const WavescopeOpRecord& record) {
  if (record.kind == WAVESCOPE_OP_NONE || record.kind > kKinds) return false;
  return record.kind != WAVESCOPE_OP_DISPATCH || (record.flags & WAVESCOPE_OP_TIMES_LOST) == 0;
}

}  // namespace

void DroppedOps::count(const char* records, std::size_t bytes) {
  WavescopeOpRecord record;
  for (std::size_t at = 0; at + record_bytes_ <= bytes; at += record_bytes_) {
    std::memcpy(&record, records + at, sizeof record);
    if (is_counted_here(record)) ++entry_of(record).count;
  }
}

WavescopeDroppedOps& DroppedOps::entry_of(const WavescopeOpRecord& record) {
  const WavescopeDroppedOps of_queue{record.gpu, record.queue, record.kind, 0};
  if (latest_ < table_.entries && is_same(table_.ops[latest_], of_queue)) return table_.ops[latest_];
  if (find(of_queue, 0)) return table_.ops[latest_];
  if (table_.entries < kQueueEntries) return add(of_queue);
  const WavescopeDroppedOps of_kind{WAVESCOPE_ANY_GPU, WAVESCOPE_ALL_QUEUES, record.kind, 0};
  return find(of_kind, kQueueEntries) ? table_.ops[latest_] : add(of_kind);
}

bool DroppedOps::find(const WavescopeDroppedOps& wanted, uint64_t first) {
  for (latest_ = first; latest_ < table_.entries; ++latest_) {
    if (is_same(table_.ops[latest_], wanted)) return true;
  }
  return false;
}

WavescopeDroppedOps& DroppedOps::add(const WavescopeDroppedOps& entry) {
  latest_ = table_.entries++;
  return table_.ops[latest_] = entry;
}

}  // namespace wavescope
