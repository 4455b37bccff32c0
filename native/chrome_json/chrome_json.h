// The C interface of the streaming reader for Chrome trace event JSON (Kineto, Perfetto, and other tools' exports).
//
// Bytes go in through wavescope_chrome_feed in pieces of any size; rows of event columns come out of wavescope_chrome_next
// into arrays that the caller owns. Times are read from the decimal text, never through a double. No function throws or
// aborts on any input; a parser is used by one thread at a time.
#ifndef WAVESCOPE_CHROME_JSON_H
#define WAVESCOPE_CHROME_JSON_H

#include <stddef.h>
#include <stdint.h>

#include "interface/export.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct WavescopeChromeParser WavescopeChromeParser;

// An integer that the event does not have; the trace tables write unknown integers the same way.
#define WAVESCOPE_CHROME_ABSENT INT64_C(-1)

// Bits of WavescopeChromeColumns.flags.
enum {
  WAVESCOPE_CHROME_HAS_TS = 1,
  WAVESCOPE_CHROME_HAS_DUR = 2,
  WAVESCOPE_CHROME_BINDS_ENCLOSING = 4,  // "bp": "e"
  WAVESCOPE_CHROME_HAS_ARGS = 8,         // the event has an args object, whether or not its text was kept
  WAVESCOPE_CHROME_GRID_IS_TEXT = 16,    // "grid": "1024,1,1", as tools write it that count work-items, not blocks
};

// Values of WavescopeChromeColumns.id_kind.
enum {
  WAVESCOPE_CHROME_ID_NONE = 0,
  WAVESCOPE_CHROME_ID_NUMBER = 1,  // id holds the number itself
  WAVESCOPE_CHROME_ID_TEXT = 2,    // id holds a number that stands for the text, the same for equal texts
};

// The integers taken from args, in the order of WavescopeChromeColumns.arguments.
enum {
  WAVESCOPE_CHROME_CORRELATION,
  WAVESCOPE_CHROME_EXTERNAL_ID,
  WAVESCOPE_CHROME_DEVICE,
  WAVESCOPE_CHROME_STREAM,
  WAVESCOPE_CHROME_QUEUE,
  WAVESCOPE_CHROME_CONTEXT,
  WAVESCOPE_CHROME_BYTES,
  WAVESCOPE_CHROME_GRAPH_ID,
  WAVESCOPE_CHROME_GRAPH_NODE_ID,
  WAVESCOPE_CHROME_REGISTERS,
  WAVESCOPE_CHROME_SHARED_MEMORY,
  WAVESCOPE_CHROME_GRID_X,
  WAVESCOPE_CHROME_GRID_Y,
  WAVESCOPE_CHROME_GRID_Z,
  WAVESCOPE_CHROME_BLOCK_X,
  WAVESCOPE_CHROME_BLOCK_Y,
  WAVESCOPE_CHROME_BLOCK_Z,
  WAVESCOPE_CHROME_SEQUENCE,  // from here on only in our own exports
  WAVESCOPE_CHROME_PROCESS,
  WAVESCOPE_CHROME_THREAD,
  WAVESCOPE_CHROME_HARDWARE_QUEUE,
  WAVESCOPE_CHROME_KERNEL,
  WAVESCOPE_CHROME_SCRATCH_BYTES,
  WAVESCOPE_CHROME_SOURCE_DEVICE,
  WAVESCOPE_CHROME_TARGET_DEVICE,
  WAVESCOPE_CHROME_MARKER,
  WAVESCOPE_CHROME_ARGUMENT_COUNT,
};

// Caller-owned arrays, one element per event. Codes are -1 where the event has no such text.
typedef struct {
  uint8_t* phase;     // the one character of "ph", 0 when there is none
  uint8_t* flags;     // WAVESCOPE_CHROME_HAS_TS ...
  uint8_t* id_kind;   // WAVESCOPE_CHROME_ID_NONE ...
  int32_t* name;      // code of the text table; args.full_name where a tool that shortens names gives it
  int32_t* category;  // code of the text table
  int32_t* kind;      // args.kind, code of the text table
  int32_t* process;   // "pid", code of the key table
  int32_t* thread;    // "tid", code of the key table
  int64_t* id;
  int64_t* start_ns;     // 0 without WAVESCOPE_CHROME_HAS_TS
  int64_t* duration_ns;  // 0 without WAVESCOPE_CHROME_HAS_DUR
  int64_t* args_end;     // where this event's args text ends in the blob of wavescope_chrome_args
  int64_t* arguments[WAVESCOPE_CHROME_ARGUMENT_COUNT];
} WavescopeChromeColumns;

typedef enum {
  WAVESCOPE_CHROME_NEED_INPUT = 0,  // everything fed so far is consumed
  WAVESCOPE_CHROME_BATCH_FULL = 1,  // the arrays are full; call again with fresh ones
  WAVESCOPE_CHROME_END = 2,  // finished: no more events
  WAVESCOPE_CHROME_ERROR = 3,  // see wavescope_chrome_error
} WavescopeChromeStatus;

typedef struct {
  int64_t events;  // rows given out
  int64_t not_objects;  // elements of the event list that are no objects; skipped
  int64_t replaced_texts;  // texts in which invalid UTF-8 or lone surrogates became U+FFFD
  int64_t unusable_times;  // ts or dur present, but no number that fits 64 bits of nanoseconds
  int64_t dropped_metadata;  // top-level members too large to be kept
  int32_t has_events;  // the file is an array or has a "traceEvents" member
  int32_t is_array;  // the file is a bare array
  int32_t truncated;  // the input ended in the middle of an event or of the top-level object
} WavescopeChromeCounts;

typedef enum {
  WAVESCOPE_CHROME_TEXTS = 0,  // names, categories, kinds
  WAVESCOPE_CHROME_KEYS = 1,  // pids and tids, spelled "n397" for the number and "s397" for the string
  WAVESCOPE_CHROME_METADATA = 2,  // top-level members other than the events: name, JSON value, name, JSON value, ...
} WavescopeChromeTable;

// NULL when memory is short.
WAVESCOPE_EXPORT WavescopeChromeParser* wavescope_chrome_open(void);
WAVESCOPE_EXPORT void wavescope_chrome_close(WavescopeChromeParser* parser);

// The args text of events of this category will not be copied. Returns 0, or -1 when memory is short.
WAVESCOPE_EXPORT int wavescope_chrome_drop_args(WavescopeChromeParser* parser, const char* category, size_t size);

// Adds input. Returns 0, or -1 after an error.
WAVESCOPE_EXPORT int wavescope_chrome_feed(WavescopeChromeParser* parser, const char* bytes, size_t size);
// Says that the input is complete.
WAVESCOPE_EXPORT void wavescope_chrome_finish(WavescopeChromeParser* parser);

// Appends events to `columns` from row *rows on, up to `capacity`; *rows is then the number of filled rows. A call with
// *rows == 0 begins a new batch, which empties the args blob.
WAVESCOPE_EXPORT WavescopeChromeStatus wavescope_chrome_next(WavescopeChromeParser* parser,
                                                             const WavescopeChromeColumns* columns, size_t capacity,
                                                             size_t* rows);

// The args texts of the current batch, each compact and strictly valid JSON. The pointer is good until the next call.
WAVESCOPE_EXPORT const char* wavescope_chrome_args(const WavescopeChromeParser* parser, size_t* size);

// The table's entries added since the last call: *count texts, the i-th ending at ends[i] in the blob that is returned.
// Both pointers are good until the next call; NULL when memory is short.
WAVESCOPE_EXPORT const char* wavescope_chrome_take(WavescopeChromeParser* parser, WavescopeChromeTable table,
                                                   const int64_t** ends, size_t* count);

WAVESCOPE_EXPORT void wavescope_chrome_get_counts(const WavescopeChromeParser* parser, WavescopeChromeCounts* counts);
// What was wrong, and at which byte of the (uncompressed) input; an empty text when nothing was.
WAVESCOPE_EXPORT const char* wavescope_chrome_error(const WavescopeChromeParser* parser, int64_t* offset);

#ifdef __cplusplus
}
#endif
#endif
