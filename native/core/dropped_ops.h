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

  // Takes note of whole records that are to be dropped; those that others took out of the file are zeros. Dispatches whose
  // times are lost were counted as such: they are not counted again.
  void count(const char* records, std::size_t bytes);
  // All places before this one are dropped.
  void set_first_kept(uint64_t place) { table_.records = place; }

  const WavescopeDropped& table() const { return table_; }

 private:
  WavescopeDroppedOps& entry_of(const WavescopeOpRecord& record);
  // Whether an entry from `first` on is of that queue and kind, which then is the latest.
  bool find(const WavescopeDroppedOps& wanted, uint64_t first);
  WavescopeDroppedOps& add(const WavescopeDroppedOps& entry);

  const uint32_t record_bytes_;
  WavescopeDropped table_{};
  uint64_t latest_ = 0;  // entry
};

}  // namespace wavescope

#endif
