// The C interface for thread traces (ATT): wave files into columns, and the counter model that finds what waits wait for.
//
// The caller owns all arrays. No function throws, aborts or keeps anything between calls, whatever the input.
#ifndef WAVESCOPE_THREAD_TRACE_H
#define WAVESCOPE_THREAD_TRACE_H

#include <stddef.h>
#include <stdint.h>

#include "interface/export.h"

#ifdef __cplusplus
extern "C" {
#endif

// Bytes of zeros that must follow the text given to wavescope_wave_read.
#define WAVESCOPE_WAVE_PADDING 32

// Columns that wavescope_wave_read appends to; the counts say how many elements are filled.
typedef struct {
  int64_t event_capacity;
  int64_t event_count;
  int64_t* time;
  uint8_t* category;
  int32_t* stall;
  int32_t* duration;
  int32_t* line;  // what code.json calls LineNumber; -1 where the file has none that fits

  int64_t list_capacity;
  int64_t list_count;
  int32_t* wait_line;     // one per dependency list
  int64_t* producer_end;  // where the list's producers end; they start where the previous list's end

  int64_t producer_capacity;
  int64_t producer_count;
  int32_t* producer_line;
} WavescopeWaveColumns;

// The single values of a wave; INT64_MIN where the file has none of less than 54 bits.
typedef struct {
  int64_t begin;
  int64_t end;
  int64_t cu;
  int64_t id;
  int64_t simd;
  int64_t slot;
  int64_t unusable;  // entries of the lists that are no such tuples; left out
} WavescopeWaveFacts;

typedef enum {
  WAVESCOPE_WAVE_WHOLE = 0,
  WAVESCOPE_WAVE_CUT = 1,        // the text ends early; what came before is kept
  WAVESCOPE_WAVE_MALFORMED = 2,  // not JSON from some point on; what came before is kept
  WAVESCOPE_WAVE_NOT_A_WAVE = 3, // JSON, but no object with a "wave" object in it
  WAVESCOPE_WAVE_FULL = 4,       // a column is full; the columns are as before the call
} WavescopeWaveStatus;

// Reads one wave file, whose text is followed by WAVESCOPE_WAVE_PADDING zero bytes.
WAVESCOPE_EXPORT WavescopeWaveStatus wavescope_wave_read(const char* text, size_t size, WavescopeWaveColumns* columns,
                                                         WavescopeWaveFacts* facts);

enum { WAVESCOPE_COUNTERS = 8, WAVESCOPE_SHARED_GROUPS = 2 };

// What an instruction does to the counters of its wave.
typedef struct {
  uint8_t is_wait;
  uint8_t drains_all;             // a wait for every counter that makes one list of all
  uint8_t increments[WAVESCOPE_COUNTERS];  // a memory operation: how much it adds to each counter
  uint8_t unorders;               // bit per counter: operations may from now on finish in any order
  int8_t shared_group;            // a memory operation that the first of several counters takes: the group, else -1
  uint8_t waited;                 // bit per counter: a wait looks at it
  int32_t limits[WAVESCOPE_COUNTERS];    // a wait: how many operations may be outstanding afterwards
} WavescopeCounterAction;

// How a family's waits are read.
typedef struct {
  int32_t wait_order[WAVESCOPE_COUNTERS];    // counters in the order in which one wait takes them
  uint8_t shared_of[WAVESCOPE_COUNTERS];     // bit per group: which shared groups a counter takes with it
} WavescopeCounterFamily;

// What waits waited for. Capacities: lists, one for each counter that a wait looks at; producers, one for each increment.
typedef struct {
  int64_t list_capacity;
  int64_t list_count;
  int64_t* wait_event;
  uint8_t* counter;       // WAVESCOPE_COUNTERS for a wait that drains all
  int64_t* producer_end;  // where the list's producers end in producer_event
  int64_t producer_capacity;
  int64_t producer_count;
  int64_t* producer_event;
} WavescopeDependencies;

// Runs the counters of every wave over its executed instructions: events offsets[w] to offsets[w + 1] belong to wave w,
// action_of_row[row[event]] says what an event does (-1 and rows out of range: nothing). Returns 0, or 1 when a capacity
// does not suffice, an action is out of range or memory is short.
WAVESCOPE_EXPORT int wavescope_wait_dependencies(const int32_t* row, const int64_t* offsets, int64_t wave_count,
                                                 const int32_t* action_of_row, int64_t row_count,
                                                 const WavescopeCounterAction* actions, int64_t action_count,
                                                 const WavescopeCounterFamily* family, WavescopeDependencies* dependencies);

#ifdef __cplusplus
}
#endif
#endif
