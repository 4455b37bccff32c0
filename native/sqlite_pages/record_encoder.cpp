#include "sqlite_pages/record_encoder.h"

#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "sqlite_pages/page_format.h"

namespace wavescope::sqlite_pages {

namespace {

constexpr uint8_t kRealType = 7;
constexpr std::array<uint8_t, 10> kTypeBytes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0};

// Smallest integer type for a number that needs so many bits, the sign included.
constexpr std::array<uint8_t, 65> types_by_bits() {
  std::array<uint8_t, 65> types{};
  for (size_t bits = 0; bits < types.size(); ++bits) {
    types[bits] = bits <= 8 ? 1 : bits <= 16 ? 2 : bits <= 24 ? 3 : bits <= 32 ? 4 : bits <= 48 ? 5 : 6;
  }
  return types;
}
constexpr std::array<uint8_t, 65> kTypesByBits = types_by_bits();

inline int64_t load_number(const WavescopeBulkValues& values, int64_t row) {
  int64_t bits;
  std::memcpy(&bits, static_cast<const uint8_t*>(values.values) + row * values.stride_bytes, sizeof bits);
  return bits;
}

inline double as_double(int64_t bits) {
  double value;
  std::memcpy(&value, &bits, sizeof value);
  return value;
}

// Stores the low `bytes` bytes big-endian; eight bytes from `target` on must be writable.
inline void store_integer(uint8_t* target, int64_t value, uint8_t bytes) {
  uint64_t word = static_cast<uint64_t>(value) << (64 - 8 * bytes);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  std::memcpy(target, &word, sizeof word);
}

// Whether SQLite would keep this double as an integer.
inline bool is_stored_as_integer(double value, int32_t whole_numbers) {
  if (whole_numbers == WAVESCOPE_WHOLE_AS_REAL || std::trunc(value) != value) return false;
  if (whole_numbers == WAVESCOPE_WHOLE_AS_SHORT_INTEGER) return value >= -0x1p47 && value < 0x1p47;
  return value > -0x1p63 && value < 0x1p63;
}

}  // namespace

RecordEncoder::RecordEncoder(std::vector<WavescopeBulkColumn> columns, bool constant_types)
    : columns_(std::move(columns)), zero_type_(constant_types ? 8 : 1), one_type_(constant_types ? 9 : 1) {}

int RecordEncoder::begin(const WavescopeBulkValues* values) {
  values_.assign(values, values + columns_.size());
  text_columns_.clear();
  for (size_t index = 0; index < columns_.size(); ++index) {
    const WavescopeBulkValues& source = values_[index];
    if (source.kind == WAVESCOPE_COLUMN_NULL) continue;
    const bool known = source.kind >= WAVESCOPE_COLUMN_INTEGER && source.kind <= WAVESCOPE_COLUMN_TEXT;
    if (!known || source.values == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
    if (source.kind == WAVESCOPE_COLUMN_TEXT) text_columns_.push_back(index);
  }
  texts_.resize(text_columns_.size());
  return WAVESCOPE_PAGES_OK;
}

inline uint8_t RecordEncoder::integer_type(int64_t value) const {
  if (value == 0) return zero_type_;
  if (value == 1) return one_type_;
  const uint64_t magnitude = static_cast<uint64_t>(value < 0 ? ~value : value);
  return kTypesByBits[65 - static_cast<size_t>(__builtin_clzll(magnitude | 1))];
}

int RecordEncoder::encode(int64_t row) {
  uint64_t types_bytes = columns_.size() - text_columns_.size();
  uint64_t body_bytes = types_bytes * 8;  // at most
  if (!text_columns_.empty()) {
    const int status = measure_texts(row, types_bytes, body_bytes);
    if (status != WAVESCOPE_PAGES_OK) return status;
  }
  uint64_t header_bytes = types_bytes + 1;
  while (varint_bytes(header_bytes) + types_bytes > header_bytes) ++header_bytes;
  if (header_bytes + body_bytes > kLargestPayload) return WAVESCOPE_PAGES_TOO_LARGE;
  const size_t room = static_cast<size_t>(header_bytes + body_bytes) + kReadSlack;
  if (record_.size() < room) record_.resize(room);

  uint8_t* type_at = write_varint(record_.data(), header_bytes);
  uint8_t* body_at = record_.data() + header_bytes;
  size_t text_index = 0;
  for (size_t index = 0; index < columns_.size(); ++index) {
    const WavescopeBulkColumn& column = columns_[index];
    const int32_t kind = values_[index].kind;
    uint8_t type = 0;
    if (kind == WAVESCOPE_COLUMN_TEXT) {
      const Text& text = texts_[text_index++];
      type_at = write_varint(type_at, text.type);
      if (text.count > 0) std::memcpy(body_at, text.bytes, text.count);
      body_at += text.count;
      if (text.type == 0 && column.not_null != 0) return WAVESCOPE_PAGES_NULL_REFUSED;
      continue;
    }
    if (kind != WAVESCOPE_COLUMN_NULL) {
      int64_t bits = load_number(values_[index], row);
      if (kind == WAVESCOPE_COLUMN_INTEGER) {
        type = column.has_missing != 0 && bits == column.missing_integer ? 0 : integer_type(bits);
      } else {
        const double value = as_double(bits);
        const bool missing = std::isnan(value) || (column.has_missing != 0 && value == column.missing_real);
        type = missing ? 0 : kRealType;
        if (!missing && is_stored_as_integer(value, column.whole_numbers)) {
          bits = static_cast<int64_t>(value);
          type = integer_type(bits);
        }
      }
      const uint8_t bytes = kTypeBytes[type];
      if (bytes != 0) store_integer(body_at, bits, bytes);
      body_at += bytes;
    }
    if (type == 0 && column.not_null != 0) return WAVESCOPE_PAGES_NULL_REFUSED;
    *type_at++ = type;
  }
  record_bytes_ = static_cast<uint64_t>(body_at - record_.data());
  return WAVESCOPE_PAGES_OK;
}

int RecordEncoder::measure_texts(int64_t row, uint64_t& types_bytes, uint64_t& body_bytes) {
  for (size_t index = 0; index < text_columns_.size(); ++index) {
    const WavescopeBulkValues& source = values_[text_columns_[index]];
    Text& text = texts_[index];
    text = {0, nullptr, 0};
    if (source.nulls == nullptr || source.nulls[row] == 0) {
      const int64_t* offsets = static_cast<const int64_t*>(source.values);
      const int64_t begin = offsets[row];
      const int64_t end = offsets[row + 1];
      if (begin < 0 || end < begin || end > source.text_bytes) return WAVESCOPE_PAGES_BAD_ARGUMENT;
      text.count = static_cast<uint64_t>(end - begin);
      if (text.count > kLargestPayload) return WAVESCOPE_PAGES_TOO_LARGE;
      text.bytes = source.text + begin;
      text.type = 13 + 2 * text.count;
    }
    types_bytes += varint_bytes(text.type);
    body_bytes += text.count;
  }
  return WAVESCOPE_PAGES_OK;
}

}  // namespace wavescope::sqlite_pages
