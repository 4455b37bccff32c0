// Passes over whole columns that NumPy has no single pass for: counting, numbering, grouping and sorting by group,
// unions, nesting and lanes of intervals. Nothing here keeps anything between calls but the distinct rows, which are an
// object.
#ifndef WAVESCOPE_COLUMN_OPERATORS_H
#define WAVESCOPE_COLUMN_OPERATORS_H

#include <stdint.h>

#include "interface/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// Stores the values of group 0 in ascending order, then those of group 1, and so on. `counts` receives how many values
// each of the `group_count` groups has. Returns 0, or 1 when a group number is out of range or memory is short; the
// contents of `sorted` and `counts` are then undefined.
WAVESCOPE_EXPORT int wavescope_sort_within_groups(const uint16_t* groups, const int64_t* values, int64_t count,
                                                  int32_t group_count, int64_t* sorted, int64_t* counts);

// The same for values of 32 bits, in half the memory.
WAVESCOPE_EXPORT int wavescope_sort_short_within_groups(const uint16_t* groups, const uint32_t* values, int64_t count,
                                                        int32_t group_count, uint32_t* sorted, int64_t* counts);

// Stores how often each code from 0 to code_count - 1 occurs; negative codes are not counted. Returns 0, or 1 when a
// code is larger or memory is short.
WAVESCOPE_EXPORT int wavescope_count_codes(const int32_t* codes, int64_t count, int32_t code_count, int64_t* counts);

typedef struct WavescopeGroupedColumn {
  const void* from;
  void* to;             // room for as many values
  int32_t value_bytes;  // 1, 4 or 8
} WavescopeGroupedColumn;

// Puts the rows of each group together, the groups in the order that `order` lists them in, the rows of a group in the
// order they have. `counts` receives how many rows each group has. Returns 0, or 1 when a group number is out of range,
// `order` does not list every group once, a width is not supported, or memory is short.
WAVESCOPE_EXPORT int wavescope_group_rows(const uint16_t* groups, int64_t count, int32_t group_count, const int32_t* order,
                                          const WavescopeGroupedColumn* columns, int32_t column_count, int64_t* counts);

// Distinct rows: numbers the different rows of some integer columns in the order in which they first appear.
typedef struct WavescopeDistinctRows WavescopeDistinctRows;

WAVESCOPE_EXPORT WavescopeDistinctRows* wavescope_distinct_rows_open(int64_t columns);
WAVESCOPE_EXPORT void wavescope_distinct_rows_close(WavescopeDistinctRows* distinct);

// Writes the number of each row to `number`, and to `first` the index of the row that introduced each new number.
// Returns how many numbers are new, or -1 when memory ran out.
WAVESCOPE_EXPORT int64_t wavescope_distinct_rows_number(WavescopeDistinctRows* distinct, int64_t rows,
                                                        const int64_t* const* columns, int32_t* number, int64_t* first);

// Intervals [starts[i], ends[i]) of which neither starts nor ends ever decrease.
typedef struct WavescopeIntervalRun {
  const int64_t* starts;
  const int64_t* ends;
  int64_t count;
} WavescopeIntervalRun;

// Stores where the gapless stretches of all runs together begin and end, in order of time; touching intervals belong
// together, an interval without length that touches no other is a stretch too. Both outputs have room for as many
// stretches as there are intervals. Returns how many there are, or -1 when memory is short. Every step looks at all
// runs, so that few of them are best.
WAVESCOPE_EXPORT int64_t wavescope_union_of_runs(const WavescopeIntervalRun* runs, int32_t run_count, int64_t* firsts,
                                                 int64_t* lasts);

// Ranges [starts[i], ends[i]) in opening order: by lane, then by start, then the longer one first. Stores for each the
// index of the last range before it in its lane that contains it whole (-1: none), and how many such ancestors it has. An
// empty range is an instant, which contains nothing. Returns 0, or 1 when memory is short.
WAVESCOPE_EXPORT int wavescope_nest(const int64_t* starts, const int64_t* ends, const int64_t* lanes, int64_t count,
                                    int64_t* parents, int64_t* depths);

// How much of the time from the first start to the last end the intervals of one run leave uncovered.
WAVESCOPE_EXPORT uint64_t wavescope_uncovered_ns(const int64_t* starts, const int64_t* ends, int64_t count);

// How many of the values, which never decrease, are less than each time, or no greater with is_right. Times in about the
// order of the values, as they mostly come, are found with a few steps from one to the next.
WAVESCOPE_EXPORT void wavescope_places(const int64_t* values, int64_t count, const int64_t* times, int64_t time_count,
                                       int32_t is_right, int64_t* places);

// Gives each range [starts[i], ends[i]), in order of start, a lane from 0 to lane_count - 1 on which it overlaps nothing:
// the first that is free, or, of nested ranges, the one below all that are open. `free_at` tells when each lane is free,
// before and after. A range that finds none gets 255. Returns how many found none, or -1 unless lane_count is 1 to 254.
WAVESCOPE_EXPORT int64_t wavescope_pack_lanes(const int64_t* starts, const int64_t* ends, int64_t count, int32_t is_nested,
                                              int64_t* free_at, int32_t lane_count, uint8_t* lanes);

#ifdef __cplusplus
}
#endif

#endif
