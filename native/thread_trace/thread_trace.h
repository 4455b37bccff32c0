// The C interface for thread traces (ATT): wave files into columns, and the counter model that finds what waits wait for.
//
// The caller owns all arrays. No function throws, aborts or keeps anything between calls, whatever the input.
#ifndef WAVESCOPE_THREAD_TRACE_H
#define WAVESCOPE_THREAD_TRACE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define WS_THREAD_TRACE_EXPORT __attribute__((visibility("default")))

// Bytes of zeros that must follow the text given to ws_wave_read.
#define WS_WAVE_PADDING 32

// Columns that ws_wave_read appends to; the counts say how many elements are filled.
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
} ws_wave_columns;

// The single values of a wave; INT64_MIN where the file has none of less than 54 bits.
typedef struct {
  int64_t begin;
  int64_t end;
  int64_t cu;
  int64_t id;
  int64_t simd;
  int64_t slot;
  int64_t unusable;  // entries of the lists that are no such tuples; left out
} ws_wave_facts;

typedef enum {
  WS_WAVE_WHOLE = 0,
  WS_WAVE_CUT = 1,        // the text ends early; what came before is kept
  WS_WAVE_MALFORMED = 2,  // not JSON from some point on; what came before is kept
  WS_WAVE_NOT_A_WAVE = 3, // JSON, but no object with a "wave" object in it
  WS_WAVE_FULL = 4,       // a column is full; the columns are as before the call
} ws_wave_status;

// Reads one wave file, whose text is followed by WS_WAVE_PADDING zero bytes.
WS_THREAD_TRACE_EXPORT ws_wave_status ws_wave_read(const char* text, size_t size, ws_wave_columns* columns,
                                                   ws_wave_facts* facts);

// A code.json whose rows are to become columns.
typedef struct ws_code_file ws_code_file;

enum { WS_CODE_TEXTS = 2 };

// Columns that ws_code_read fills from row 0 on; places are the indices of the cells in a row of the file, -1 for none.
typedef struct {
  int64_t capacity;
  int32_t width;  // cells that every row has at least
  int32_t integer_count;
  const int32_t* integer_places;
  int64_t* const* integers;
  int32_t text_places[WS_CODE_TEXTS];
  int32_t* texts[WS_CODE_TEXTS];  // numbers of distinct texts, in order of first appearance
} ws_code_columns;

// `text` is followed by WS_WAVE_PADDING zero bytes and outlives the file. NULL when it is not one JSON object.
WS_THREAD_TRACE_EXPORT ws_code_file* ws_code_open(const char* text, size_t size);
WS_THREAD_TRACE_EXPORT void ws_code_close(ws_code_file* file);
// Where the value of a top-level member lies. Returns 0, or 1 when there is none of that name.
WS_THREAD_TRACE_EXPORT int ws_code_member(const ws_code_file* file, const char* name, int64_t* begin, int64_t* end);
// Reads the rows of "code". Returns how many, or -1 when any of them is not as expected.
WS_THREAD_TRACE_EXPORT int64_t ws_code_read(ws_code_file* file, const ws_code_columns* columns);
// The distinct texts of a column, the i-th ending at ends[i] in the returned blob; good until the next call.
WS_THREAD_TRACE_EXPORT const char* ws_code_texts(ws_code_file* file, int32_t index, const int64_t** ends,
                                                 int64_t* count);

enum { WS_COUNTERS = 8, WS_SHARED_GROUPS = 2 };

// What an instruction does to the counters of its wave.
typedef struct {
  uint8_t is_wait;
  uint8_t drains_all;             // a wait for every counter that makes one list of all
  uint8_t increments[WS_COUNTERS];  // a memory operation: how much it adds to each counter
  uint8_t unorders;               // bit per counter: operations may from now on finish in any order
  int8_t shared_group;            // a memory operation that the first of several counters takes: the group, else -1
  uint8_t waited;                 // bit per counter: a wait looks at it
  int32_t limits[WS_COUNTERS];    // a wait: how many operations may be outstanding afterwards
} ws_counter_action;

// How a family's waits are read.
typedef struct {
  int32_t wait_order[WS_COUNTERS];    // counters in the order in which one wait takes them
  uint8_t shared_of[WS_COUNTERS];     // bit per group: which shared groups a counter takes with it
} ws_counter_family;

// What waits waited for. Capacities: lists, one for each counter that a wait looks at; producers, one for each increment.
typedef struct {
  int64_t list_capacity;
  int64_t list_count;
  int64_t* wait_event;
  uint8_t* counter;       // WS_COUNTERS for a wait that drains all
  int64_t* producer_end;  // where the list's producers end in producer_event
  int64_t producer_capacity;
  int64_t producer_count;
  int64_t* producer_event;
} ws_dependencies;

// Runs the counters of every wave over its executed instructions: events offsets[w] to offsets[w + 1] belong to wave w,
// action_of_row[row[event]] says what an event does (-1 and rows out of range: nothing). Returns 0, or 1 when a capacity
// does not suffice, an action is out of range or memory is short.
WS_THREAD_TRACE_EXPORT int ws_counter_model(const int32_t* row, const int64_t* offsets, int64_t wave_count,
                                            const int32_t* action_of_row, int64_t row_count,
                                            const ws_counter_action* actions, int64_t action_count,
                                            const ws_counter_family* family, ws_dependencies* dependencies);

#ifdef __cplusplus
}
#endif
#endif
