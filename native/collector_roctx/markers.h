// Marks and ranges as both roctx and NVTX know them. A range is in the file from the moment it is opened.
//
// Nothing is recorded while the session is paused or when there is none; levels and ids are right all the same. A range
// that was opened while recording is closed in any case.
#ifndef WAVESCOPE_COLLECTOR_ROCTX_MARKERS_H
#define WAVESCOPE_COLLECTOR_ROCTX_MARKERS_H

#include <cstdint>

#include "collector_roctx/nvtx_domains.h"
#include "collector_roctx/started_ranges.h"
#include "format/chunk_format.h"

namespace wavescope::roctx {

// Flags of the record: which interface the marker came through.
constexpr uint8_t kRoctx = 0;
constexpr uint8_t kNvtx = WAVESCOPE_MARKER_NVTX;

// What a program says of a mark or range. A null text is an empty one.
struct Marker {
  const char* text = nullptr;
  uint8_t flags = kRoctx;
  const NvtxDomain* domain = nullptr;  // null: the default one, and all of roctx
  uint16_t category = 0;
  uint8_t payload_kind = WAVESCOPE_PAYLOAD_NONE;
  uint64_t payload = 0;

  Marker(const char* text_, uint8_t flags_) : text(text_), flags(flags_) {}
};

void mark(const Marker& marker);

// Ranges nest within their domain: a pop closes the innermost one of its own, whatever others are open.
int push_range(const Marker& marker);                   // the level it is at in its domain, from 0
int pop_range(const NvtxDomain* domain = nullptr);      // the level that it was at; -1 when none is open

uint64_t start_range(const Marker& marker, uint64_t id_of_next);  // its id, from 1
StartedRange stop_range(uint64_t id);                             // empty when the id is not known

inline void mark(const char* text, uint8_t flags) { mark(Marker(text, flags)); }
inline int push_range(const char* text, uint8_t flags) { return push_range(Marker(text, flags)); }
inline uint64_t start_range(const char* text, uint8_t flags, uint64_t id_of_next) {
  return start_range(Marker(text, flags), id_of_next);
}

}  // namespace wavescope::roctx

#endif
