// The reader's C functions: arguments checked, exceptions turned into statuses.
#include <new>

#include "sqlite_pages/sqlite_pages.h"
#include "sqlite_pages/table_reader.h"

struct WavescopeTableReader {
  wavescope::sqlite_pages::TableReader reader;
};

namespace {

bool valid(const WavescopeReadColumn* columns, int32_t column_count) {
  if (column_count < 0 || (column_count > 0 && columns == nullptr)) return false;
  for (int32_t index = 0; index < column_count; ++index) {
    const WavescopeReadColumn& column = columns[index];
    if (column.position < WAVESCOPE_COLUMN_IS_ROWID) return false;
    if (column.kind < WAVESCOPE_COLUMN_INTEGER || column.kind > WAVESCOPE_COLUMN_TEXT) return false;
    if (column.position == WAVESCOPE_COLUMN_IS_ROWID && column.kind != WAVESCOPE_COLUMN_INTEGER) return false;
    for (int32_t earlier = 0; earlier < index && column.position >= 0; ++earlier) {
      if (columns[earlier].position == column.position) return false;
    }
  }
  return true;
}

}  // namespace

extern "C" {

int wavescope_table_reader_open(const char* path, uint32_t root_page, const WavescopeReadColumn* columns,
                                int32_t column_count, WavescopeTableReader** reader, int32_t* error_number) {
  if (reader == nullptr || error_number == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  *reader = nullptr;
  *error_number = 0;
  if (path == nullptr || !valid(columns, column_count)) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  WavescopeTableReader* opened = new (std::nothrow) WavescopeTableReader();
  if (opened == nullptr) return WAVESCOPE_PAGES_OUT_OF_MEMORY;
  int status;
  try {
    status = opened->reader.open(path, root_page, columns, column_count);
  } catch (const std::bad_alloc&) {
    status = WAVESCOPE_PAGES_OUT_OF_MEMORY;
  }
  *error_number = opened->reader.error_number();
  if (status == WAVESCOPE_PAGES_OK) {
    *reader = opened;
  } else {
    delete opened;
  }
  return status;
}

int wavescope_table_reader_seek_after(WavescopeTableReader* reader, int64_t rowid, WavescopeReadOutcome* outcome) {
  if (reader == nullptr || outcome == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  int status;
  try {
    status = reader->reader.seek_after(rowid);
  } catch (const std::bad_alloc&) {
    status = WAVESCOPE_PAGES_OUT_OF_MEMORY;
  }
  reader->reader.describe(*outcome);
  return status;
}

int wavescope_table_reader_read(WavescopeTableReader* reader, int64_t max_rows, int64_t last_rowid, int64_t text_limit_bytes,
                                const WavescopeReadTarget* targets, WavescopeReadOutcome* outcome) {
  if (reader == nullptr || outcome == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  if (targets == nullptr || max_rows < 0) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  int status;
  try {
    status = reader->reader.read(max_rows, last_rowid, text_limit_bytes, targets);
  } catch (const std::bad_alloc&) {
    status = WAVESCOPE_PAGES_OUT_OF_MEMORY;
  }
  reader->reader.describe(*outcome);
  return status;
}

int wavescope_table_reader_verify(WavescopeTableReader* reader, WavescopeReadOutcome* outcome) {
  if (reader == nullptr || outcome == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  int status;
  try {
    status = reader->reader.verify();
  } catch (const std::bad_alloc&) {
    status = WAVESCOPE_PAGES_OUT_OF_MEMORY;
  }
  reader->reader.describe(*outcome);
  return status;
}

int wavescope_table_reader_text(WavescopeTableReader* reader, int32_t column, const uint8_t** bytes, int64_t* byte_count) {
  if (reader == nullptr || bytes == nullptr || byte_count == nullptr || column < 0) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  const std::vector<uint8_t>* text = reader->reader.text(column);
  if (text == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  *bytes = text->data();
  *byte_count = static_cast<int64_t>(text->size());
  return WAVESCOPE_PAGES_OK;
}

void wavescope_table_reader_close(WavescopeTableReader* reader) { delete reader; }

}  // extern "C"
