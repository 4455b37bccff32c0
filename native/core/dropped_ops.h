// What was dropped of an ops stream, by queue and kind, as the page of its header has it.
#ifndef WAVESCOPE_CORE_DROPPED_OPS_H
#define WAVESCOPE_CORE_DROPPED_OPS_H

#include <cstddef>
#include <cstdint>

#include "format/chunk_format.h"

namespace wavescope {

class DroppedOps {
 public:
  explicit DroppedOps(uint32_t record_bytes) : record_bytes_(record_bytes) {}

  // Takes note of whole records that are to be dropped; those that others took out of the file are zeros.
  void count(const char* records, std::size_t bytes);
  // All places before this one are dropped.
  void set_first_kept(uint64_t place) { table_.records = place; }

  const WavescopeDropped& table() const { return table_; }

 private:
  WavescopeDroppedOps& entry_of(const WavescopeOpRecord& record);

  const uint32_t record_bytes_;
  WavescopeDropped table_{};
  uint64_t latest_ = 0;  // entry
};

}  // namespace wavescope

#endif
