// The bulk writer's C functions: arguments checked, exceptions turned into statuses.
#include <new>

#include "sqlite_pages/bulk_writer.h"
#include "sqlite_pages/sqlite_pages.h"

struct WavescopeBulkWriter {
  wavescope::sqlite_pages::BulkWriter writer;
};

namespace {

// A call that ran out of memory may have left half a row behind: the writer then accepts nothing but abort.
template <typename Call>
int guarded(WavescopeBulkWriter* writer, Call call) {
  if (writer == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  try {
    return call(writer->writer);
  } catch (const std::bad_alloc&) {
    writer->writer.poison();
    return WAVESCOPE_PAGES_OUT_OF_MEMORY;
  }
}

}  // namespace

extern "C" {

int wavescope_bulk_open(const char* path, WavescopeBulkWriter** writer, int32_t* error_number) {
  if (path == nullptr || writer == nullptr || error_number == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  *error_number = 0;
  *writer = nullptr;
  WavescopeBulkWriter* opened = new (std::nothrow) WavescopeBulkWriter();
  if (opened == nullptr) return WAVESCOPE_PAGES_OUT_OF_MEMORY;
  const int status = guarded(opened, [path](auto& bulk) { return bulk.open(path); });
  *error_number = opened->writer.error_number();
  if (status == WAVESCOPE_PAGES_OK) {
    *writer = opened;
  } else {
    delete opened;
  }
  return status;
}

int wavescope_bulk_add_table(WavescopeBulkWriter* writer, uint32_t root_page, const WavescopeBulkColumn* columns,
                             int32_t column_count, int32_t* table) {
  if (columns == nullptr || table == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  return guarded(writer, [=](auto& bulk) { return bulk.add_table(root_page, columns, column_count, table); });
}

int wavescope_bulk_append(WavescopeBulkWriter* writer, int32_t table, int64_t rows, const int64_t* rowids,
                          const WavescopeBulkValues* values) {
  if (rows > 0 && (rowids == nullptr || values == nullptr)) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  return guarded(writer, [=](auto& bulk) { return bulk.append(table, rows, rowids, values); });
}

int wavescope_bulk_finish(WavescopeBulkWriter* writer) {
  return guarded(writer, [](auto& bulk) { return bulk.finish(); });
}

int wavescope_bulk_abort(WavescopeBulkWriter* writer) {
  return guarded(writer, [](auto& bulk) { return bulk.abort(); });
}

int32_t wavescope_bulk_error_number(const WavescopeBulkWriter* writer) {
  return writer == nullptr ? 0 : writer->writer.error_number();
}

void wavescope_bulk_close(WavescopeBulkWriter* writer) { delete writer; }

}  // extern "C"
