// Reads and fills SQLite rowid tables page by page, without the SQLite library.
//
// The reader turns columns of one table into arrays; the bulk writer builds the b-tree of empty tables from arrays.
// Neither knows any schema: the caller takes root pages and column positions from sqlite_master through SQLite itself.
// Nothing here is global; one object is used by one thread at a time.
// Every function that can fail returns a WavescopePagesStatus; nothing in a file, however damaged, is trusted.
#ifndef WAVESCOPE_SQLITE_PAGES_H
#define WAVESCOPE_SQLITE_PAGES_H

#include <stdint.h>

#include "interface/export.h"

#ifdef __cplusplus
extern "C" {
#endif

enum WavescopePagesStatus {
  WAVESCOPE_PAGES_OK = 0,
  WAVESCOPE_PAGES_UNEXPECTED_VALUE = 1,  // a value of another kind than asked for, or one that only SQLite can supply
  WAVESCOPE_PAGES_CORRUPT = 2,           // a page breaks the file format; the bad page number says which
  WAVESCOPE_PAGES_IO_ERROR = 3,          // a system call failed; see the error number
  WAVESCOPE_PAGES_UNSUPPORTED = 4,       // not a SQLite file of a kind that is handled here
  WAVESCOPE_PAGES_OUT_OF_MEMORY = 5,
  WAVESCOPE_PAGES_BAD_ARGUMENT = 6,
  WAVESCOPE_PAGES_NOT_INCREASING = 7,  // rowids to append do not grow
  WAVESCOPE_PAGES_NULL_REFUSED = 8,    // NULL for a column declared NOT NULL
  WAVESCOPE_PAGES_TOO_LARGE = 9,       // a row or the file would pass SQLite's limits
};

enum WavescopeColumnKind {
  WAVESCOPE_COLUMN_INTEGER = 0,
  WAVESCOPE_COLUMN_REAL = 1,
  WAVESCOPE_COLUMN_TEXT = 2,
  WAVESCOPE_COLUMN_NULL = 3,  // bulk writer only: NULL in every row, which is also how a rowid alias is stored
};

// ---- reader

typedef struct WavescopeTableReader WavescopeTableReader;

enum { WAVESCOPE_COLUMN_IS_ROWID = -1 };

typedef struct WavescopeReadColumn {
  int32_t position;      // place in the record, counted from 0, or WAVESCOPE_COLUMN_IS_ROWID
  int32_t kind;          // WavescopeColumnKind
  int32_t has_default;   // nonzero: a record too short to hold the column stands for a value that only SQLite knows
  int64_t missing_bits;  // the 8 bytes stored for NULL: an int64 or the bits of a double
} WavescopeReadColumn;

typedef struct WavescopeReadTarget {
  void* values;    // int64[max_rows] or double[max_rows]; for text the int64[max_rows + 1] offsets
  uint8_t* nulls;  // text only: uint8[max_rows], 1 where the value is NULL
} WavescopeReadTarget;

typedef struct WavescopeReadOutcome {
  int64_t rows;          // complete rows stored, also when the status is not OK
  int64_t last_rowid;    // rowid of the last row handed out since the last seek
  uint32_t bad_page;     // for CORRUPT
  int32_t error_number;  // for IO_ERROR
  int32_t at_end;        // nonzero: the table has no further rows
} WavescopeReadOutcome;

// Opens a regular file read-only. On failure *reader is NULL.
WAVESCOPE_EXPORT int wavescope_table_reader_open(const char* path, uint32_t root_page, const WavescopeReadColumn* columns,
                                                 int32_t column_count, WavescopeTableReader** reader, int32_t* error_number);

// Places the reader before the first row whose rowid is greater than `rowid`.
WAVESCOPE_EXPORT int wavescope_table_reader_seek_after(WavescopeTableReader* reader, int64_t rowid,
                                                       WavescopeReadOutcome* outcome);

// Reads at most max_rows rows with rowid <= last_rowid. Also stops, with OK, once text_limit_bytes of text are held.
WAVESCOPE_EXPORT int wavescope_table_reader_read(WavescopeTableReader* reader, int64_t max_rows, int64_t last_rowid,
                                                 int64_t text_limit_bytes, const WavescopeReadTarget* targets,
                                                 WavescopeReadOutcome* outcome);

// Walks the whole table as reading all of it would, and keeps nothing: OK, or the first damage. Afterwards only a seek
// places the reader again.
WAVESCOPE_EXPORT int wavescope_table_reader_verify(WavescopeTableReader* reader, WavescopeReadOutcome* outcome);

// The bytes of a text column as of the latest read; they live until the next read.
WAVESCOPE_EXPORT int wavescope_table_reader_text(WavescopeTableReader* reader, int32_t column, const uint8_t** bytes,
                                                 int64_t* byte_count);

WAVESCOPE_EXPORT void wavescope_table_reader_close(WavescopeTableReader* reader);

// ---- bulk writer

typedef struct WavescopeBulkWriter WavescopeBulkWriter;

// When a whole double is stored as an integer, which takes less room.
enum WavescopeWholeNumbers {
  WAVESCOPE_WHOLE_AS_REAL = 0,           // never: columns without affinity
  WAVESCOPE_WHOLE_AS_INTEGER = 1,        // always: columns of integer or numeric affinity
  WAVESCOPE_WHOLE_AS_SHORT_INTEGER = 2,  // up to 48 bits: columns of real affinity, where SQLite turns it back
};

typedef struct WavescopeBulkColumn {
  int32_t not_null;       // nonzero: NULL is refused
  int32_t has_missing;    // nonzero: numbers equal to the missing value become NULL, as NaN always does
  int32_t whole_numbers;  // WavescopeWholeNumbers
  int64_t missing_integer;
  double missing_real;
} WavescopeBulkColumn;

typedef struct WavescopeBulkValues {
  int32_t kind;          // WavescopeColumnKind; with NULL nothing else counts
  const void* values;    // first int64 or double; for text the int64[rows + 1] offsets
  int64_t stride_bytes;  // from one number to the next; unused for text
  const uint8_t* text;   // text only
  int64_t text_bytes;    // text only
  const uint8_t* nulls;  // text only, may be NULL: 1 where the value is NULL
} WavescopeBulkValues;

// Opens a closed database for appending pages. WAL mode, auto_vacuum, a freelist or UTF-16 are unsupported.
WAVESCOPE_EXPORT int wavescope_bulk_open(const char* path, WavescopeBulkWriter** writer, int32_t* error_number);

// Registers the empty table rooted at root_page; *table is its handle. One descriptor per column of the table, in
// order; values come in the same order, the rowid's own column as NULL.
WAVESCOPE_EXPORT int wavescope_bulk_add_table(WavescopeBulkWriter* writer, uint32_t root_page,
                                              const WavescopeBulkColumn* columns, int32_t column_count, int32_t* table);

// Appends rows; their rowids must grow, also from one call to the next. After a failure only abort is possible.
WAVESCOPE_EXPORT int wavescope_bulk_append(WavescopeBulkWriter* writer, int32_t table, int64_t rows, const int64_t* rowids,
                                           const WavescopeBulkValues* values);

// Writes the upper levels, the root pages and the file header: only now the rows become part of the database.
WAVESCOPE_EXPORT int wavescope_bulk_finish(WavescopeBulkWriter* writer);

// Cuts the file back to what it was.
WAVESCOPE_EXPORT int wavescope_bulk_abort(WavescopeBulkWriter* writer);

// The error number behind the latest IO_ERROR.
WAVESCOPE_EXPORT int32_t wavescope_bulk_error_number(const WavescopeBulkWriter* writer);

// Frees the writer; what was neither finished nor aborted is aborted.
WAVESCOPE_EXPORT void wavescope_bulk_close(WavescopeBulkWriter* writer);

// ---- dispatch text

// Parses n texts such as "hwq=0x7e4d2e6bb000 wg=256,1,1 grid=131072,1,1" into rows of seven int64: queue address,
// workgroup x, y, z, grid x, y, z; -1 where a number is absent or does not fit.
WAVESCOPE_EXPORT int wavescope_parse_dispatch_info(const uint8_t* text, int64_t text_bytes, const int64_t* offsets,
                                                   int64_t count, int64_t* rows);

#ifdef __cplusplus
}
#endif

#endif
