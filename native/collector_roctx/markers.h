// Marks and ranges as both roctx and NVTX know them. A range is in the file from the moment it is opened.
//
// Nothing is recorded while the session is paused or when there is none; levels and ids are right all the same. A range
// that was opened while recording is closed in any case.
#ifndef WAVESCOPE_COLLECTOR_ROCTX_MARKERS_H
#define WAVESCOPE_COLLECTOR_ROCTX_MARKERS_H

#include <cstdint>

#include "collector_roctx/started_ranges.h"
#include "format/chunk_format.h"

namespace wavescope::roctx {

// Flags of the record: which interface the marker came through.
constexpr uint8_t kRoctx = 0;
constexpr uint8_t kNvtx = WAVESCOPE_MARKER_NVTX;

// A null text is an empty one.
void mark(const char* text, uint8_t flags);

int push_range(const char* text, uint8_t flags);  // the level it is at, from 0
int pop_range();                                  // the level that it was at; -1 when none is open

uint64_t start_range(const char* text, uint8_t flags, uint64_t id_of_next);  // its id, from 1
StartedRange stop_range(uint64_t id);                                        // empty when the id is not known

}  // namespace wavescope::roctx

#endif
