// Encodes one row after another as SQLite records, with the compact types that SQLite itself would choose.
#ifndef WAVESCOPE_SQLITE_RECORD_ENCODER_H
#define WAVESCOPE_SQLITE_RECORD_ENCODER_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sqlite_pages/sqlite_pages.h"

namespace wavescope::sqlite_pages {

class RecordEncoder {
 public:
  // `constant_types` is false for old schema formats, which know no types for the constants 0 and 1.
  RecordEncoder(std::vector<WavescopeBulkColumn> columns, bool constant_types);

  // Takes the arrays, one per column, from which encode() is going to take rows; a WavescopePagesStatus.
  int begin(const WavescopeBulkValues* values);
  // Encodes row `row` of the arrays; a WavescopePagesStatus.
  int encode(int64_t row);

  const uint8_t* record() const { return record_.data(); }
  uint64_t record_bytes() const { return record_bytes_; }

 private:
  struct Text {
    uint64_t type;
    const uint8_t* bytes;
    uint64_t count;
  };

  int measure_texts(int64_t row, uint64_t& types_bytes, uint64_t& body_bytes);
  uint8_t integer_type(int64_t value) const;

  std::vector<WavescopeBulkColumn> columns_;
  std::vector<WavescopeBulkValues> values_;
  std::vector<size_t> text_columns_;
  std::vector<Text> texts_;  // of the row being encoded, in the order of text_columns_
  std::vector<uint8_t> record_;
  uint64_t record_bytes_ = 0;
  uint8_t zero_type_;
  uint8_t one_type_;
};

}  // namespace wavescope::sqlite_pages

#endif
