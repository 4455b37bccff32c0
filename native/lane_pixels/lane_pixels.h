// What a timeline draws of lanes, exact to the nanosecond at every zoom: sums over blocks of ranges that are made once, and
// then a search or two for each edge of a pixel. A lane's ranges are in order of start and none overlaps the next. Edges
// never decrease; pixel k is [edges[k], edges[k + 1]).
#ifndef WAVESCOPE_LANE_PIXELS_H
#define WAVESCOPE_LANE_PIXELS_H

#include <stdint.h>

#include "interface/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// Ranges of a block; the last block of a lane may have fewer.
enum { WAVESCOPE_LANE_BLOCK = 256 };

typedef struct WavescopeLane {
  const int64_t* starts;
  const void* lengths;
  int64_t count;
  int64_t length_bytes;         // 4 or 8: of one length, which has no sign
  const int64_t* block_starts;  // the start of the first range of each block
} WavescopeLane;

// Stores for each block the start of its first range, the longest length and whether it has a range without length. The
// lane's own `block_starts` are not looked at. Returns 0, or 1 when the lengths are not of 4 or 8 bytes.
WAVESCOPE_EXPORT int wavescope_lane_blocks(const WavescopeLane* lane, int64_t* block_starts, uint64_t* longest,
                                           uint8_t* has_instant);

// Stores 1 for each value that occurs; `seen` has room for 256.
WAVESCOPE_EXPORT void wavescope_seen_bytes(const uint8_t* values, int64_t count, uint8_t* seen);

// Stores the time of each class in all ranges before each block, and behind the last: [block][column]. `columns` tells the
// column of each of 256 classes. Returns 0, or 1 when a column is not below `column_count` or the lane is not usable.
WAVESCOPE_EXPORT int wavescope_class_sums(const WavescopeLane* lane, const uint8_t* classes, const uint8_t* columns,
                                          int32_t column_count, uint64_t* sums);

// Adds to times[column][pixel] how long ranges of the class ran in each pixel. Returns 0, or 1 as above.
WAVESCOPE_EXPORT int wavescope_class_times(const WavescopeLane* lane, const uint8_t* classes, const uint8_t* columns,
                                           int32_t column_count, const uint64_t* sums, const int64_t* edges,
                                           int64_t pixel_count, uint64_t* times);

// The time that ranges of any of the lanes cover before some moments: every few steps of a walk over all lanes. Stores
// moments from the time `*from` on, before which `*covered` is covered, until there is no more room or nothing comes any
// more, and in `*from` and `*covered` where the walk is then. Returns how many were stored, or -1 when memory is short.
WAVESCOPE_EXPORT int64_t wavescope_cover_moments(const WavescopeLane* lanes, int32_t lane_count, int64_t* from,
                                                 uint64_t* covered, int64_t room, int64_t* moments, uint64_t* before);

// Stores how much time of each pixel ranges of any lane cover; `moments` are all that cover_moments gives, from a time
// before which nothing is covered. Returns 0, or 1 when memory is short.
WAVESCOPE_EXPORT int wavescope_cover_times(const WavescopeLane* lanes, int32_t lane_count, const int64_t* moments,
                                           const uint64_t* before, int64_t moment_count, const int64_t* edges,
                                           int64_t pixel_count, uint64_t* times);

// Stores the places of the ranges that meet [from, to) and are at least `shortest` long, which is at least 1; no more than
// there is room for. `longest` as lane_blocks gives it. Returns how many were stored, or -1 when the lane is not usable.
WAVESCOPE_EXPORT int64_t wavescope_wide_ranges(const WavescopeLane* lane, const uint64_t* longest, int64_t from, int64_t to,
                                               uint64_t shortest, int64_t room, int64_t* places);

// Stores for each pixel the place of its first range without length, where it has one. Returns how many were stored, or -1.
WAVESCOPE_EXPORT int64_t wavescope_first_instants(const WavescopeLane* lane, const uint8_t* has_instant,
                                                  const int64_t* edges, int64_t pixel_count, int64_t* places);

// Values that hold from each time to the next, the last up to `end`; NaN: unknown. Stores for each block of values how long
// they are known, and what their times and values come to, less those of the last value.
WAVESCOPE_EXPORT void wavescope_series_blocks(const int64_t* times, const double* values, int64_t count, double* known,
                                              double* weighted);

// Stores the mean of what is known in each pixel, NaN where nothing is.
WAVESCOPE_EXPORT void wavescope_series_means(const int64_t* times, const double* values, int64_t count, int64_t end,
                                             const double* known, const double* weighted, const int64_t* edges,
                                             int64_t pixel_count, float* means);

#ifdef __cplusplus
}
#endif

#endif
