// Decodes the wanted columns of records, one row after the other, to where the caller wants them.
#ifndef WAVESCOPE_SQLITE_RECORD_DECODER_H
#define WAVESCOPE_SQLITE_RECORD_DECODER_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "sqlite_pages/record_shapes.h"
#include "sqlite_pages/sqlite_pages.h"

namespace wavescope::sqlite_pages {

class RecordDecoder {
 public:
  enum class Decoded { kRow, kNeedsOverflow, kUnexpected, kCorrupt };

  void want(const WavescopeReadColumn* columns, int32_t column_count);
  void begin(const WavescopeReadTarget* targets);
  // What is decoded is looked at and thrown away: each row takes the place of the one before it.
  void begin_for_nobody();

  // Of a record of `payload` bytes the first `available` are at `record`.
  Decoded decode(const uint8_t* record, uint64_t available, uint64_t payload);
  void store_rowid(int64_t rowid) {
    for (int64_t* const output : rowid_outputs_) output[row_] = rowid;
  }
  void next_row() { ++row_; }

  // Whether only integers are wanted: then most records can be stored by store_integers.
  bool wants_integers() const { return wants_integers_; }
  // Stores a whole record as row `row`, if one with its header was decoded before and held integers: false for others.
  // `latest` is what the row before was: mostly this one has the same header, and need not wait for it to be looked up.
  [[gnu::always_inline]] bool store_integers(const uint8_t* record, uint64_t payload, int64_t rowid, size_t row,
                                             const RecordShapes::Entry*& latest) const;
  void rows_were_stored(size_t count) { row_ += count; }
  // Takes back the text of a row that could not be completed.
  void forget_row();

  size_t rows() const { return row_; }
  int64_t held_text_bytes() const { return held_text_bytes_; }
  const std::vector<uint8_t>* text(int32_t target) const;

 private:
  struct Column {
    WavescopeReadColumn request;
    size_t target;               // its place in the caller's list
    WavescopeReadTarget output;  // where this read puts its values
    std::vector<uint8_t> text;   // bytes of the rows of this read
  };

  Decoded parse_header(const uint8_t* record, uint64_t available, uint64_t payload);
  void split_integers();
  static StoredValue placed(const Column& column, uint64_t offset, uint64_t type, uint64_t bytes);
  Decoded store_value(Column& column, const uint8_t* value, uint64_t type, uint64_t bytes);
  void store_null(Column& column);

  std::vector<Column> columns_;     // in record order
  std::vector<int64_t*> integers_;  // where the values of each column go
  bool wants_integers_ = false;
  std::vector<size_t> rowid_targets_;
  std::vector<int64_t*> rowid_outputs_;
  std::vector<std::array<int64_t, 2>> unread_values_;
  uint8_t unread_null_ = 0;
  RecordShapes shapes_;
  RecordShape parsed_;
  size_t row_ = 0;
  int64_t held_text_bytes_ = 0;
};

// The eight bytes at `value` as a big-endian integer.
inline int64_t load_word(const uint8_t* value) {
  uint64_t word;
  std::memcpy(&word, value, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return static_cast<int64_t>(word);
}

inline bool RecordDecoder::store_integers(const uint8_t* record, uint64_t payload, int64_t rowid, size_t row,
                                          const RecordShapes::Entry*& latest) const {
  if (!integers_.empty()) {
    if (latest == nullptr || !latest->is_of(record)) latest = shapes_.find(record, payload);
    if (latest == nullptr) return false;
    const RecordShape& shape = latest->shape;
    // Also where the end is greater than the payload: the difference is huge then.
    if (!shape.has_only_integers || payload - shape.end > shape.most_behind) return false;
    int64_t* const* const targets = integers_.data();
    for (const LoadedInteger& each : shape.loaded) {
      targets[each.column][row] = load_word(record + each.offset) >> each.shift;
    }
    for (const ImpliedInteger& each : shape.implied) targets[each.column][row] = each.value;
  }
  for (int64_t* const output : rowid_outputs_) output[row] = rowid;
  return true;
}

}  // namespace wavescope::sqlite_pages

#endif
