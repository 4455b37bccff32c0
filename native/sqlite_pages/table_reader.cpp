#include "sqlite_pages/table_reader.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace wavescope::sqlite_pages {

namespace {

constexpr size_t kLargestDepth = 20;  // SQLite's own limit for a b-tree
constexpr uint32_t kSmallestCell = 4;
constexpr uint64_t kLargestRecordHeader = 98307;  // SQLite refuses longer ones
constexpr uint64_t kInvalidBytes = UINT64_MAX;

constexpr std::array<uint64_t, 12> kFixedBytes = {0, 1, 2, 3, 4, 6, 8, 8, 0, 0, kInvalidBytes, kInvalidBytes};

inline uint64_t value_bytes(uint64_t type) { return type >= 12 ? (type - 12) / 2 : kFixedBytes[type]; }

// The eight bytes at `value` as a big-endian integer.
inline int64_t load_word(const uint8_t* value) {
  uint64_t word;
  std::memcpy(&word, value, sizeof word);
#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
  word = __builtin_bswap64(word);
#endif
  return static_cast<int64_t>(word);
}

}  // namespace

int TableReader::open(const char* path, uint32_t root_page, const WavescopeReadColumn* columns, int32_t column_count) {
  const int status = source_.open(path);
  if (status != WAVESCOPE_PAGES_OK) return status;
  split_ = PayloadSplit(source_.header().usable_bytes);
  root_page_ = root_page;
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
  visited_.resize(static_cast<size_t>(source_.page_count()) + 1);
  overflow_page_.resize(source_.header().page_bytes);
  return WAVESCOPE_PAGES_OK;
}

int TableReader::seek_after(int64_t rowid) {
  std::fill(visited_.begin(), visited_.end(), false);
  depth_ = 0;
  leaf_ = Leaf();
  at_end_ = false;
  last_rowid_ = rowid;
  before_first_ = rowid == INT64_MIN;
  floor_ = rowid;
  ceiling_ = INT64_MAX;
  leaf_depth_ = kNoDepth;
  uint32_t number = root_page_;
  while (true) {
    const size_t depth = depth_;
    int status = enter(number);
    if (status != WAVESCOPE_PAGES_OK) return status;
    if (depth_ == depth) return before_first_ ? WAVESCOPE_PAGES_OK : skip_cells(rowid);
    Interior& interior = interiors_[depth_ - 1];
    if (!before_first_) {
      status = choose_child(interior, number, rowid);
      if (status != WAVESCOPE_PAGES_OK) return status;
    }
    if (!take_child(interior, number)) return corrupt(number);
  }
}

// The cell of the next row, whose rowid is where the rows before it and the pages above it allow it to be.
int TableReader::next_cell(Cell& cell, bool& is_there) {
  while (leaf_.next_cell == leaf_.cells) {
    const int status = next_leaf();
    is_there = false;
    if (status != WAVESCOPE_PAGES_OK || at_end_) return status;
  }
  if (!parse_cell(leaf_.next_cell, cell)) return corrupt(leaf_.number);
  if ((cell.rowid <= floor_ && !before_first_) || cell.rowid > ceiling_) return corrupt(leaf_.number);
  is_there = true;
  return WAVESCOPE_PAGES_OK;
}

// Whether a cell that is read for the first time overlaps no other one. In tables that only grow each cell lies below
// the one before it, which is quickly seen; pages in another order are looked at as a whole.
bool TableReader::is_apart(const Cell& cell) {
  if (cell.end <= leaf_.lowest) {
    leaf_.lowest = cell.begin;
    return true;
  }
  leaf_.is_apart = leaf_.is_apart || leaf_cells_are_apart();
  return leaf_.is_apart;
}

int TableReader::read(int64_t max_rows, int64_t last_rowid, int64_t text_limit_bytes, const WavescopeReadTarget* targets) {
  row_ = 0;
  held_text_bytes_ = 0;
  for (Column& column : columns_) {
    column.output = targets[column.target];
    column.text.clear();
    if (column.request.kind == WAVESCOPE_COLUMN_TEXT) static_cast<int64_t*>(column.output.values)[0] = 0;
  }
  rowid_outputs_.clear();
  for (const size_t target : rowid_targets_) rowid_outputs_.push_back(static_cast<int64_t*>(targets[target].values));
  if (leaf_.page == nullptr && !at_end_) return corrupt(root_page_);  // never placed, or placing failed
  Cell cell;
  bool is_there;
  while (static_cast<int64_t>(row_) < max_rows && held_text_bytes_ < text_limit_bytes) {
    int status = next_cell(cell, is_there);
    if (status != WAVESCOPE_PAGES_OK || !is_there || cell.rowid > last_rowid) return status;
    if (!is_apart(cell)) return corrupt(leaf_.number);
    status = store_row(cell);
    if (status != WAVESCOPE_PAGES_OK) return status;
    last_rowid_ = floor_ = cell.rowid;
    before_first_ = false;
    ++leaf_.next_cell;
    ++row_;
  }
  return WAVESCOPE_PAGES_OK;
}

// Walks all rows and decodes what is wanted of them as read() does; values of another kind are no damage.
int TableReader::verify() {
  std::vector<std::array<int64_t, 2>> values(columns_.size());
  uint8_t null = 0;
  for (size_t index = 0; index < columns_.size(); ++index) columns_[index].output = {values[index].data(), &null};
  rowid_outputs_.clear();
  row_ = 0;
  Cell cell;
  bool is_there;
  int status = seek_after(INT64_MIN);
  while (status == WAVESCOPE_PAGES_OK) {
    status = next_cell(cell, is_there);
    if (status != WAVESCOPE_PAGES_OK || !is_there) break;
    if (!is_apart(cell)) return corrupt(leaf_.number);
    for (Column& column : columns_) column.text.clear();
    status = store_row(cell);
    if (status == WAVESCOPE_PAGES_UNEXPECTED_VALUE) status = WAVESCOPE_PAGES_OK;
    floor_ = cell.rowid;
    before_first_ = false;
    ++leaf_.next_cell;
  }
  return status;
}

bool TableReader::leaf_cells_are_apart() {
  spans_.clear();
  for (uint32_t index = 0; index < leaf_.cells; ++index) {
    Cell cell;
    if (!parse_cell(index, cell)) return false;
    spans_.push_back(static_cast<uint64_t>(cell.begin) << 32 | cell.end);
  }
  return spans_are_apart();
}

bool TableReader::interior_cells_are_apart(const Interior& interior) {
  spans_.clear();
  for (uint32_t index = 0; index < interior.cells; ++index) {
    uint32_t child;
    int64_t key;
    size_t end;
    if (!interior_cell(interior, index, child, key, &end)) return false;
    const uint64_t begin = load_u16(interior.page.data() + kInteriorHeaderBytes + 2 * static_cast<size_t>(index));
    spans_.push_back(begin << 32 | end);
  }
  return spans_are_apart();
}

bool TableReader::spans_are_apart() {
  std::sort(spans_.begin(), spans_.end());
  uint64_t end = 0;
  for (const uint64_t span : spans_) {
    if (span >> 32 < end) return false;
    end = span & UINT32_MAX;
  }
  return true;
}

void TableReader::describe(WavescopeReadOutcome& outcome) const {
  outcome.rows = static_cast<int64_t>(row_);
  outcome.last_rowid = last_rowid_;
  outcome.bad_page = bad_page_;
  outcome.error_number = source_.error_number();
  outcome.at_end = at_end_ ? 1 : 0;
}

const std::vector<uint8_t>* TableReader::text(int32_t target) const {
  for (const Column& column : columns_) {
    if (column.target == static_cast<size_t>(target) && column.request.kind == WAVESCOPE_COLUMN_TEXT) {
      return &column.text;
    }
  }
  return nullptr;
}

int TableReader::enter(uint32_t number) {
  // Page 1 holds the file header and the schema; it is nobody's child and no table's root.
  if (number < 2 || number > source_.page_count() || visited_[number]) return corrupt(number);
  visited_[number] = true;
  const uint8_t* page = source_.page(number);
  if (page == nullptr) return unreadable(number);
  if (page[0] == kLeafTable) return enter_leaf(number, page);
  if (page[0] == kInteriorTable) return enter_interior(number, page);
  return corrupt(number);
}

int TableReader::enter_leaf(uint32_t number, const uint8_t* page) {
  const uint32_t cells = load_u16(page + 3);
  if (kLeafHeaderBytes + 2 * static_cast<size_t>(cells) > source_.header().usable_bytes) return corrupt(number);
  if (cells == 0 && number != root_page_) return corrupt(number);  // only a whole table can be empty
  if (leaf_depth_ == kNoDepth) leaf_depth_ = depth_;
  if (depth_ != leaf_depth_) return corrupt(number);
  leaf_ = {page, number, cells, 0, source_.header().usable_bytes, false};
  return WAVESCOPE_PAGES_OK;
}

int TableReader::enter_interior(uint32_t number, const uint8_t* page) {
  const uint32_t cells = load_u16(page + 3);
  if (depth_ == kLargestDepth || cells == 0) return corrupt(number);
  if (kInteriorHeaderBytes + 2 * static_cast<size_t>(cells) > source_.header().usable_bytes) return corrupt(number);
  if (interiors_.size() == depth_) interiors_.emplace_back();
  Interior& interior = interiors_[depth_++];
  interior.page.assign(page, page + source_.header().page_bytes);
  interior.cells = cells;
  interior.next_child = 0;
  interior.lower = interior.passed = depth_ == 1 ? INT64_MIN : interiors_[depth_ - 2].lower;
  interior.upper = ceiling_;
  return interior_cells_are_apart(interior) ? static_cast<int>(WAVESCOPE_PAGES_OK) : corrupt(number);
}

int TableReader::next_leaf() {
  while (depth_ > 0) {
    Interior& interior = interiors_[depth_ - 1];
    if (interior.next_child > interior.cells) {
      --depth_;
      continue;
    }
    uint32_t child;
    if (!take_child(interior, child)) return corrupt(leaf_.number);
    const size_t depth = depth_;
    const int status = enter(child);
    if (status != WAVESCOPE_PAGES_OK || depth_ == depth) return status;
  }
  at_end_ = true;
  return WAVESCOPE_PAGES_OK;
}

// Sets next_child to the first child that can hold rowids greater than `after`.
int TableReader::choose_child(Interior& interior, uint32_t number, int64_t after) {
  while (interior.next_child < interior.cells) {
    uint32_t child;
    int64_t key;
    if (!interior_cell(interior, interior.next_child, child, key)) return corrupt(number);
    if (key > after) break;
    if (key > interior.upper || (key <= interior.passed && interior.passed != INT64_MIN)) return corrupt(number);
    interior.passed = key;
    ++interior.next_child;
  }
  return WAVESCOPE_PAGES_OK;
}

// The page of the next child, between whose bounds all its rowids must lie.
bool TableReader::take_child(Interior& interior, uint32_t& child) {
  interior.lower = interior.passed;
  int64_t key;
  if (!interior_cell(interior, interior.next_child, child, key)) return false;
  if (interior.next_child == interior.cells) {
    ceiling_ = interior.upper;
  } else {
    if (key > interior.upper || (key <= interior.lower && interior.lower != INT64_MIN)) return false;
    ceiling_ = interior.passed = key;
  }
  floor_ = std::max(floor_, interior.lower);
  ++interior.next_child;
  return true;
}

int TableReader::skip_cells(int64_t after) {
  while (leaf_.next_cell < leaf_.cells) {
    Cell cell;
    if (!parse_cell(leaf_.next_cell, cell)) return corrupt(leaf_.number);
    if (cell.rowid > after) break;
    ++leaf_.next_cell;
  }
  return WAVESCOPE_PAGES_OK;
}

bool TableReader::interior_cell(const Interior& interior, uint32_t index, uint32_t& child, int64_t& key, size_t* end) const {
  const uint8_t* page = interior.page.data();
  if (index == interior.cells) {
    child = load_u32(page + 8);
    key = INT64_MAX;
    return true;
  }
  const size_t usable = source_.header().usable_bytes;
  const size_t offset = load_u16(page + kInteriorHeaderBytes + 2 * static_cast<size_t>(index));
  if (offset < kInteriorHeaderBytes + 2 * static_cast<size_t>(interior.cells) || offset + 5 > usable) return false;
  uint64_t rowid;
  const uint8_t* const after = read_varint(page + offset + 4, page + usable, rowid);
  if (after == nullptr) return false;
  if (end != nullptr) *end = static_cast<size_t>(after - page);
  child = load_u32(page + offset);
  key = static_cast<int64_t>(rowid);
  return true;
}

bool TableReader::parse_cell(uint32_t index, Cell& cell) const {
  const size_t usable = source_.header().usable_bytes;
  const size_t offset = load_u16(leaf_.page + kLeafHeaderBytes + 2 * static_cast<size_t>(index));
  const size_t directory_end = kLeafHeaderBytes + 2 * static_cast<size_t>(leaf_.cells);
  if (offset < directory_end || offset + kSmallestCell > usable) return false;
  const uint8_t* end = leaf_.page + usable;
  uint64_t rowid;
  const uint8_t* at = read_varint(leaf_.page + offset, end, cell.payload_bytes);
  if (at == nullptr || cell.payload_bytes > kLargestPayload) return false;
  at = read_varint(at, end, rowid);
  if (at == nullptr) return false;
  cell.rowid = static_cast<int64_t>(rowid);
  cell.local = at;
  cell.local_bytes = split_.local(cell.payload_bytes);
  const uint64_t left = static_cast<uint64_t>(end - at);
  const bool is_whole = cell.local_bytes == cell.payload_bytes;
  const uint64_t taken = cell.local_bytes + (is_whole ? 0 : 4);
  if (taken > left) return false;
  cell.begin = offset;
  cell.end = std::max<size_t>(offset + kSmallestCell, static_cast<size_t>(at - leaf_.page) + taken);
  if (is_whole) return true;
  cell.overflow_page = load_u32(at + cell.local_bytes);
  return true;
}

// Puts the whole record into assembled_. Memory grows only with pages that are really there, each used once.
int TableReader::assemble(const Cell& cell) {
  assembled_.assign(cell.local, cell.local + cell.local_bytes);
  uint32_t number = cell.overflow_page;
  while (assembled_.size() < cell.payload_bytes) {
    if (number < 2 || number > source_.page_count() || visited_[number]) return corrupt(number);
    visited_[number] = true;
    if (!source_.copy_page(number, overflow_page_.data())) return unreadable(number);
    const uint64_t part = std::min<uint64_t>(split_.overflow_bytes, cell.payload_bytes - assembled_.size());
    const uint8_t* content = overflow_page_.data() + 4;
    assembled_.insert(assembled_.end(), content, content + part);
    number = load_u32(overflow_page_.data());
  }
  if (number != 0) return corrupt(number);  // the chain goes on behind the record's end
  assembled_.resize(assembled_.size() + kReadSlack);
  return WAVESCOPE_PAGES_OK;
}

int TableReader::store_row(const Cell& cell) {
  Decoded decoded = decode(cell.local, cell.local_bytes, cell.payload_bytes);
  if (decoded == Decoded::kNeedsOverflow) {
    forget_row();
    const int status = assemble(cell);
    if (status != WAVESCOPE_PAGES_OK) return status;
    decoded = decode(assembled_.data(), cell.payload_bytes, cell.payload_bytes);
  }
  if (decoded != Decoded::kRow) {
    forget_row();
    return decoded == Decoded::kUnexpected ? static_cast<int>(WAVESCOPE_PAGES_UNEXPECTED_VALUE) : corrupt(leaf_.number);
  }
  for (int64_t* const output : rowid_outputs_) output[row_] = cell.rowid;
  return WAVESCOPE_PAGES_OK;
}

TableReader::Decoded TableReader::decode(const uint8_t* record, uint64_t available, uint64_t payload) {
  if (columns_.empty()) return Decoded::kRow;
  const RecordShape* shape = shapes_.find(record, available);
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
    const uint8_t* const value = record + stored->offset;
    if (stored->is_integer) {
      const int64_t integer = ((load_word(value) >> stored->shift) & stored->mask) + stored->constant;
      static_cast<int64_t*>(column.output.values)[row] = integer;
    } else {
      const Decoded decoded = store_value(column, value, stored->type, stored->bytes);
      if (decoded != Decoded::kRow) return decoded;
    }
    ++stored;
  }
  return Decoded::kRow;
}

// Puts the place of every wanted value into parsed_.
TableReader::Decoded TableReader::parse_header(const uint8_t* record, uint64_t available, uint64_t payload) {
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
  // Behind the last value that the header speaks of there is nothing.
  parsed_.most_behind = at == header_end ? 0 : kLargestPayload;
  return Decoded::kRow;
}

StoredValue TableReader::placed(const Column& column, uint64_t offset, uint64_t type, uint64_t bytes) {
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

TableReader::Decoded TableReader::store_value(Column& column, const uint8_t* value, uint64_t type, uint64_t bytes) {
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

void TableReader::store_null(Column& column) {
  if (column.request.kind == WAVESCOPE_COLUMN_TEXT) {
    static_cast<int64_t*>(column.output.values)[row_ + 1] = static_cast<int64_t>(column.text.size());
    column.output.nulls[row_] = 1;
  } else {
    static_cast<int64_t*>(column.output.values)[row_] = column.request.missing_bits;
  }
}

// Takes back the text of a row that could not be completed.
void TableReader::forget_row() {
  for (Column& column : columns_) {
    if (column.request.kind != WAVESCOPE_COLUMN_TEXT) continue;
    const int64_t kept = static_cast<const int64_t*>(column.output.values)[row_];
    held_text_bytes_ -= static_cast<int64_t>(column.text.size()) - kept;
    column.text.resize(static_cast<size_t>(kept));
  }
}

int TableReader::corrupt(uint32_t page_number) {
  bad_page_ = page_number;
  leaf_.page = nullptr;  // a further read must not step over the damage
  return WAVESCOPE_PAGES_CORRUPT;
}

int TableReader::unreadable(uint32_t page_number) {
  corrupt(page_number);
  return source_.error_number() == 0 ? WAVESCOPE_PAGES_CORRUPT : WAVESCOPE_PAGES_IO_ERROR;
}

}  // namespace wavescope::sqlite_pages
