#include "core/dropped_ops.h"

#include <cstring>

namespace wavescope {
namespace {

bool is_of(const WavescopeDroppedOps& entry, const WavescopeOpRecord& record) {
  return entry.queue == record.queue && entry.gpu == record.gpu && entry.kind == record.kind;
}

}  // namespace

void DroppedOps::count(const char* records, std::size_t bytes) {
  WavescopeOpRecord record;
  for (std::size_t at = 0; at + record_bytes_ <= bytes; at += record_bytes_) {
    std::memcpy(&record, records + at, sizeof record);
    if (record.kind != 0) ++entry_of(record).count;
  }
}

WavescopeDroppedOps& DroppedOps::entry_of(const WavescopeOpRecord& record) {
  if (latest_ < table_.entries && is_of(table_.ops[latest_], record)) return table_.ops[latest_];
  for (latest_ = 0; latest_ < table_.entries; ++latest_) {
    if (is_of(table_.ops[latest_], record)) return table_.ops[latest_];
  }
  if (table_.entries == WAVESCOPE_DROPPED_OPS) return table_.ops[latest_ = WAVESCOPE_DROPPED_OPS - 1];
  const bool is_last = ++table_.entries == WAVESCOPE_DROPPED_OPS;
  WavescopeDroppedOps& made = table_.ops[latest_];
  made = WavescopeDroppedOps{record.gpu, record.queue, record.kind, 0};
  if (is_last) made = WavescopeDroppedOps{WAVESCOPE_ANY_GPU, WAVESCOPE_ALL_QUEUES, record.kind, 0};
  return made;
}

}  // namespace wavescope
