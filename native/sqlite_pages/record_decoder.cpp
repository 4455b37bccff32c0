#include "sqlite_pages/record_decoder.h"

#include <algorithm>
#include <cmath>
#include <cstring>

#include "sqlite_pages/page_format.h"

namespace wavescope::sqlite_pages {

namespace {

constexpr uint64_t kLargestRecordHeader = 98307;  // SQLite refuses longer ones
constexpr uint64_t kInvalidBytes = UINT64_MAX;

constexpr std::array<uint64_t, 12> kFixedBytes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, kInvalidBytes, kInvalidBytes};

inline uint64_t value_bytes(uint64_t type) { return type >= 12 ? (type - 12) / 2 : kFixedBytes[type]; }

}  // namespace

void RecordDecoder::want(const WavescopeReadColumn* columns, int32_t column_count) {
  for (int32_t index = 0; index < column_count; ++index) {
    const WavescopeReadColumn& request = columns[index];
    if (request.position == WAVESCOPE_COLUMN_IS_ROWID) {
      rowid_targets_.push_back(static_cast<size_t>(index));
    } else {
      columns_.push_back({request, static_cast<size_t>(index), {}, {}});
    }
  }
  std::sort(columns_.begin(), columns_.end(),
            [](const Column& left, const Column& right) { return left.request.position < right.request.position; });
  wants_integers_ = std::all_of(columns_.begin(), columns_.end(),
                                [](const Column& column) { return column.request.kind == WAVESCOPE_COLUMN_INTEGER; });
}

void RecordDecoder::begin(const WavescopeReadTarget* targets) {
  row_ = 0;
  held_text_bytes_ = 0;
  for (Column& column : columns_) {
    column.output = targets[column.target];
    column.text.clear();
    if (column.request.kind == WAVESCOPE_COLUMN_TEXT) static_cast<int64_t*>(column.output.values)[0] = 0;
  }
  integers_.clear();
  if (wants_integers_) {
    for (const Column& column : columns_) integers_.push_back(static_cast<int64_t*>(column.output.values));
  }
  rowid_outputs_.clear();
  for (const size_t target : rowid_targets_) rowid_outputs_.push_back(static_cast<int64_t*>(targets[target].values));
}

void RecordDecoder::begin_for_nobody() {
  row_ = 0;
  held_text_bytes_ = 0;
  unread_values_.assign(columns_.size(), {});
  for (size_t index = 0; index < columns_.size(); ++index) {
    columns_[index].output = {unread_values_[index].data(), &unread_null_};
    columns_[index].text.clear();
  }
  rowid_outputs_.clear();
}

const std::vector<uint8_t>* RecordDecoder::text(int32_t target) const {
  for (const Column& column : columns_) {
    if (column.target == static_cast<size_t>(target) && column.request.kind == WAVESCOPE_COLUMN_TEXT) {
      return &column.text;
    }
  }
  return nullptr;
}

RecordDecoder::Decoded RecordDecoder::decode(const uint8_t* record, uint64_t available, uint64_t payload) {
  if (columns_.empty()) return Decoded::kRow;
  const RecordShapes::Entry* const entry = shapes_.find(record, available);
  const RecordShape* shape = entry == nullptr ? nullptr : &entry->shape;
  if (shape == nullptr) {
    const Decoded parsed = parse_header(record, available, payload);
    if (parsed != Decoded::kRow) return parsed;
    shapes_.remember(record, available, parsed_);
    shape = &parsed_;
  }
  // Also where the end is greater than the payload: the difference is huge then.
  if (payload - shape->end > shape->most_behind) return Decoded::kCorrupt;
  if (shape->end > available) return Decoded::kNeedsOverflow;
  const StoredValue* stored = shape->values.data();
  const size_t row = row_;
  for (Column& column : columns_) {
    if (stored->is_integer) {
      const int64_t integer = ((load_word(record + stored->offset) >> stored->shift) & stored->mask) + stored->constant;
      static_cast<int64_t*>(column.output.values)[row] = integer;
    } else {
      const Decoded decoded = store_value(column, record + stored->offset, stored->type, stored->bytes);
      if (decoded != Decoded::kRow) return decoded;
    }
    ++stored;
  }
  return Decoded::kRow;
}

// Puts the place of every wanted value into parsed_.
RecordDecoder::Decoded RecordDecoder::parse_header(const uint8_t* record, uint64_t available, uint64_t payload) {
  uint64_t header_bytes;
  const uint8_t* at = read_varint(record, record + available, header_bytes);
  if (at == nullptr) return available < payload ? Decoded::kNeedsOverflow : Decoded::kCorrupt;
  if (header_bytes > payload || header_bytes > kLargestRecordHeader) return Decoded::kCorrupt;
  if (header_bytes > available) return Decoded::kNeedsOverflow;
  const uint8_t* const header_end = record + header_bytes;
  parsed_.values.clear();
  uint64_t value_at = header_bytes;
  auto wanted = columns_.begin();
  for (int32_t position = 0; wanted != columns_.end(); ++position) {
    if (at >= header_end) {  // written before the column was added to the table
      for (; wanted != columns_.end(); ++wanted) {
        if (wanted->request.has_default != 0) return Decoded::kUnexpected;
        parsed_.values.push_back(placed(*wanted, 0, 0, 0));
      }
      break;
    }
    uint64_t type;
    at = read_varint(at, header_end, type);
    if (at == nullptr) return Decoded::kCorrupt;
    const uint64_t bytes = value_bytes(type);
    if (bytes > payload - value_at) return Decoded::kCorrupt;
    if (position == wanted->request.position) {
      parsed_.values.push_back(placed(*wanted, value_at, type, bytes));
      ++wanted;
    }
    value_at += bytes;
  }
  if (at > header_end && header_bytes != 0) return Decoded::kCorrupt;
  parsed_.end = value_at;
  split_integers();
  // Behind the last value that the header speaks of there is nothing.
  parsed_.most_behind = at == header_end ? 0 : kLargestPayload;
  return Decoded::kRow;
}

// Puts what parsed_ says of integers into its lists of them.
void RecordDecoder::split_integers() {
  parsed_.loaded.clear();
  parsed_.implied.clear();
  parsed_.has_only_integers = true;
  for (size_t column = 0; column < parsed_.values.size(); ++column) {
    const StoredValue& value = parsed_.values[column];
    parsed_.has_only_integers = parsed_.has_only_integers && value.is_integer;
    if (value.bytes != 0) {
      parsed_.loaded.push_back({value.offset, value.shift, column});
    } else {
      parsed_.implied.push_back({value.constant, column});
    }
  }
}

StoredValue RecordDecoder::placed(const Column& column, uint64_t offset, uint64_t type, uint64_t bytes) {
  // No record is longer than kLargestPayload: all three fit.
  StoredValue stored{static_cast<uint32_t>(offset), static_cast<uint32_t>(bytes), static_cast<uint32_t>(type)};
  stored.is_integer = column.request.kind == WAVESCOPE_COLUMN_INTEGER && type <= 9 && type != 7;
  if (!stored.is_integer) return stored;
  if (bytes != 0) {
    stored.mask = -1;
    stored.shift = static_cast<uint8_t>(64 - 8 * bytes);
  } else {
    stored.constant = type == 0 ? column.request.missing_bits : static_cast<int64_t>(type) - 8;
  }
  return stored;
}

RecordDecoder::Decoded RecordDecoder::store_value(Column& column, const uint8_t* value, uint64_t type, uint64_t bytes) {
  if (type == 0) {
    store_null(column);
    return Decoded::kRow;
  }
  if (column.request.kind == WAVESCOPE_COLUMN_TEXT) {
    if (type < 12) return Decoded::kUnexpected;
    column.text.insert(column.text.end(), value, value + bytes);
    held_text_bytes_ += static_cast<int64_t>(bytes);
    static_cast<int64_t*>(column.output.values)[row_ + 1] = static_cast<int64_t>(column.text.size());
    column.output.nulls[row_] = 0;
    return Decoded::kRow;
  }
  if (type >= 12) return Decoded::kUnexpected;
  if (type == 7) {
    if (column.request.kind == WAVESCOPE_COLUMN_INTEGER) return Decoded::kUnexpected;
    const uint64_t bits = load_u64(value);
    double real;
    std::memcpy(&real, &bits, sizeof real);
    if (std::isnan(real)) {  // SQLite reads it as NULL
      store_null(column);
    } else {
      static_cast<double*>(column.output.values)[row_] = real;
    }
    return Decoded::kRow;
  }
  const int64_t integer = type <= 6 ? load_word(value) >> (64 - 8 * bytes) : static_cast<int64_t>(type) - 8;
  if (column.request.kind == WAVESCOPE_COLUMN_INTEGER) {
    static_cast<int64_t*>(column.output.values)[row_] = integer;
  } else {
    static_cast<double*>(column.output.values)[row_] = static_cast<double>(integer);
  }
  return Decoded::kRow;
}

void RecordDecoder::store_null(Column& column) {
  if (column.request.kind == WAVESCOPE_COLUMN_TEXT) {
    static_cast<int64_t*>(column.output.values)[row_ + 1] = static_cast<int64_t>(column.text.size());
    column.output.nulls[row_] = 1;
  } else {
    static_cast<int64_t*>(column.output.values)[row_] = column.request.missing_bits;
  }
}

void RecordDecoder::forget_row() {
  for (Column& column : columns_) {
    if (column.request.kind != WAVESCOPE_COLUMN_TEXT) continue;
    const int64_t kept = static_cast<const int64_t*>(column.output.values)[row_];
    held_text_bytes_ -= static_cast<int64_t>(column.text.size()) - kept;
    column.text.resize(static_cast<size_t>(kept));
  }
}

}  // namespace wavescope::sqlite_pages
