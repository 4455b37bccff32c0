// Fills empty tables of a closed database file; the rows become part of it only when finish() writes roots and header.
#ifndef WAVESCOPE_SQLITE_BULK_WRITER_H
#define WAVESCOPE_SQLITE_BULK_WRITER_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sqlite_pages/page_appender.h"
#include "sqlite_pages/page_format.h"
#include "sqlite_pages/table_builder.h"

namespace wavescope::sqlite_pages {

class BulkWriter {
 public:
  BulkWriter() = default;
  ~BulkWriter();
  BulkWriter(const BulkWriter&) = delete;
  BulkWriter& operator=(const BulkWriter&) = delete;

  // A WavescopePagesStatus, as from the other functions.
  int open(const char* path);
  int add_table(uint32_t root_page, const WavescopeBulkColumn* columns, int32_t column_count, int32_t* table);
  int append(int32_t table, int64_t rows, const int64_t* rowids, const WavescopeBulkValues* values);
  int finish();
  int abort();
  void poison() { is_usable_ = false; }

  int error_number() const { return error_number_ != 0 ? error_number_ : pages_.error_number(); }

 private:
  int check_header() const;
  int write_roots_and_header();
  bool read_exactly(uint64_t offset, uint8_t* target, size_t count);
  int failed_call();

  int descriptor_ = -1;
  int error_number_ = 0;
  bool is_usable_ = false;  // false before open, after a failure and at the end: only abort is left
  bool is_over_ = true;     // nothing to abort
  FileHeader header_;
  PageAppender pages_;
  std::vector<TableBuilder> tables_;
};

}  // namespace wavescope::sqlite_pages

#endif
