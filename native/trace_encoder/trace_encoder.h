// Turns columns of time slices into Perfetto packets or Chrome JSON text, and Perfetto packets back into columns.
//
// Columns and buffers belong to the caller and are only used during a call. Every function that can run out of memory
// says so by its result; nothing here throws, prints or keeps state outside the objects it hands out.
#pragma once

#include <cstdint>

#include "interface/export.h"

extern "C" {

// Lanes: places slices that overlap on one track side by side, so that each (track, lane) holds no crossing slices.
//
// Flat: a lane holds slices one after another. Nested: a slice may also lie inside the one that is open on its lane.
// Rows come in order of their start (nested: of equal starts the longest first), over all calls together.
typedef struct WavescopeLanes WavescopeLanes;

WAVESCOPE_EXPORT WavescopeLanes* wavescope_lanes_open(int nested);
WAVESCOPE_EXPORT void wavescope_lanes_close(WavescopeLanes* lanes);

// Writes the lane of each row, counted from 0 per track. Returns 0, or -1 when memory ran out or a track is negative.
WAVESCOPE_EXPORT int wavescope_lanes_assign(WavescopeLanes* lanes, std::int64_t rows, const std::int32_t* track,
                                            const std::int64_t* start_ns, const std::int64_t* end_ns, std::int32_t* lane);

// Adds steps of height `step[row]` at `time_ns[row]` to the series `series[row]` of equally wide time bins:
// `height` counts what each bin's steps add up to, `area` what they add to the integral over their own bin.
// Both hold `bins` values per series. Rows outside the bins or series are ignored; sums wrap around.
WAVESCOPE_EXPORT void wavescope_bins_add(std::int64_t rows, const std::int32_t* series, const std::int64_t* time_ns,
                                         const std::int64_t* step, std::int64_t origin_ns, int width_bits,
                                         std::int64_t series_count, std::int64_t bins, std::int64_t* height,
                                         std::int64_t* area);

// A batch of slices to be written. What several rows have in common (kind, name, arguments) is a `body`, encoded
// once by the caller; the rest are numbers per row.
typedef struct WavescopeSlices {
  std::int64_t rows;
  const std::int64_t* start_ns;
  const std::int64_t* end_ns;
  std::int64_t base_ns;         // subtracted from every time
  const std::int64_t* track;    // Perfetto: track uuid; Chrome: tid
  const std::int64_t* process;  // Chrome: pid; Perfetto: not used
  const std::int32_t* body;     // index of each row's body
  const std::uint8_t* bodies;   // all bodies, one after another
  const std::int64_t* body_offsets;
  const std::uint8_t* instant;       // 1 for marks without a duration; null when there are none
  const std::int64_t* flow_offsets;  // row i has flow_ids[flow_offsets[i] .. flow_offsets[i + 1]]; null when none
  const std::int64_t* flow_ids;
  std::int64_t incoming_flows;            // Chrome: 1 when the flows end here, 0 when they start here
  std::int64_t integer_count;             // integer arguments per row; -1 stands for "not known" and is left out
  const std::int64_t* const* integers;    // one column per integer argument
  std::int64_t size_count;                // sizes per row, such as grids: shown as the text "x,y,z"
  const std::int64_t* const* sizes;       // three columns per size; all three -1 stand for "not known"
  const std::uint8_t* labels;             // encoded names of the integers, of the sizes, and that of the text
  const std::int64_t* label_offsets;
  const std::uint8_t* text;               // free text of row i: text[text_offsets[i] .. text_offsets[i + 1]]
  const std::int64_t* text_offsets;       // null when there is none; empty texts are left out
} WavescopeSlices;

// Writes rows from `*next_row` on as long as they fit into `capacity` bytes, and sets `*next_row` to the first row that
// is left. Returns the bytes written; when not even one row fits, minus the bytes that row may need.
WAVESCOPE_EXPORT std::int64_t wavescope_perfetto_slices(const WavescopeSlices* slices, std::int64_t* next_row,
                                                        std::uint8_t* out, std::int64_t capacity);
WAVESCOPE_EXPORT std::int64_t wavescope_chrome_slices(const WavescopeSlices* slices, std::int64_t* next_row,
                                                      std::uint8_t* out, std::int64_t capacity);

// Track events read from Perfetto packets. The caller provides all arrays; `capacity` rows and as many flows and
// arguments as stated fit.
typedef struct WavescopeTrackEvents {
  std::int64_t capacity;
  std::int64_t rows;
  std::int64_t* timestamp;
  std::int64_t* track;            // -1 when the packet does not say
  std::int64_t* sequence;
  std::int64_t* type;             // TrackEvent.Type
  std::int64_t* name;             // interned number, 0 when there is none
  std::int64_t* name_offset;      // where a name given as text lies in the data, -1 when there is none
  std::int64_t* name_size;
  std::int64_t* category;         // interned numbers of the first two categories, 0 when there are none
  std::int64_t* second_category;
  std::int64_t flow_capacity;
  std::int64_t flows;
  std::int64_t* flow_row;
  std::int64_t* flow_id;
  std::int64_t argument_capacity;
  std::int64_t arguments;
  std::int64_t* argument_row;
  std::int64_t* argument_name;    // interned number
  std::int64_t* argument_kind;    // 0 number, 1 interned text, 2 text in the data at `value` with `size` bytes
  std::int64_t* argument_value;
  std::int64_t* argument_size;
  std::int64_t counters;          // counter events seen; they have no row
} WavescopeTrackEvents;

enum WavescopePacketStop {
  WAVESCOPE_PACKETS_END = 0,      // no further whole packet in the data
  WAVESCOPE_PACKETS_FULL = 1,     // an array is full
  WAVESCOPE_PACKETS_OTHER = 2,    // the packet at `*position` is more than a track event
  WAVESCOPE_PACKETS_DAMAGED = 3,  // the bytes at `*position` are no packet, or a damaged one
};

// Reads packets from `*position` on as long as they hold nothing but a track event, and says why it stopped.
// `*position` is then where the first packet that was not read begins.
WAVESCOPE_EXPORT int wavescope_perfetto_events(const std::uint8_t* data, std::int64_t size, std::int64_t* position,
                                               WavescopeTrackEvents* events);
}
