#include "sqlite_pages/table_reader.h"

#include <algorithm>

namespace wavescope::sqlite_pages {

namespace {

constexpr size_t kLargestDepth = 20;  // SQLite's own limit for a b-tree
constexpr uint32_t kSmallestCell = 4;

}  // namespace

int TableReader::open(const char* path, uint32_t root_page, const WavescopeReadColumn* columns, int32_t column_count) {
  const int status = source_.open(path);
  if (status != WAVESCOPE_PAGES_OK) return status;
  split_ = PayloadSplit(source_.header().usable_bytes);
  root_page_ = root_page;
  decoder_.want(columns, column_count);
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
  decoder_.begin(targets);
  if (leaf_.page == nullptr && !at_end_) return corrupt(root_page_);  // never placed, or placing failed
  Cell cell;
  bool is_there;
  while (static_cast<int64_t>(decoder_.rows()) < max_rows && decoder_.held_text_bytes() < text_limit_bytes) {
    if (decoder_.wants_integers() && leaf_.next_cell < leaf_.cells) {
      read_plain_rows(max_rows, last_rowid);
      if (static_cast<int64_t>(decoder_.rows()) == max_rows) break;
    }
    int status = next_cell(cell, is_there);
    if (status != WAVESCOPE_PAGES_OK || !is_there || cell.rowid > last_rowid) return status;
    if (!is_apart(cell)) return corrupt(leaf_.number);
    status = store_row(cell);
    if (status != WAVESCOPE_PAGES_OK) return status;
    last_rowid_ = floor_ = cell.rowid;
    before_first_ = false;
    ++leaf_.next_cell;
    decoder_.next_row();
  }
  return WAVESCOPE_PAGES_OK;
}

// The next rows of this leaf as far as they are what nearly all are: short, in order, each below the one before it, of
// integers only, with a header that was seen before. Everything is checked as for any row, but nothing is said of what is
// found: where this stops, the row is looked at again by who says what is wrong, or knows more kinds of rows.
void TableReader::read_plain_rows(int64_t max_rows, int64_t last_rowid) {
  // In locals: what is stored could lie anywhere, so that members would be loaded again for each row.
  const uint8_t* const page = leaf_.page;
  const size_t usable = source_.header().usable_bytes;
  const uint8_t* const end = page + usable;
  const size_t directory_end = kLeafHeaderBytes + 2 * static_cast<size_t>(leaf_.cells);
  const size_t first_row = decoder_.rows();
  const size_t row_count = std::min<uint64_t>(leaf_.cells - leaf_.next_cell, static_cast<uint64_t>(max_rows) - first_row);
  const int64_t ceiling = std::min(ceiling_, last_rowid);
  const uint8_t* const offsets = page + kLeafHeaderBytes + 2 * static_cast<size_t>(leaf_.next_cell);
  int64_t floor = floor_;
  bool before_first = before_first_;
  size_t lowest = leaf_.lowest;
  const RecordShapes::Entry* latest = nullptr;
  size_t count = 0;
  for (; count < row_count; ++count) {
    const size_t offset = load_u16(offsets + 2 * count);
    if (offset < directory_end || offset + kSmallestCell > usable) break;
    const uint8_t* const cell = page + offset;
    const size_t payload = cell[0];
    if (payload >= 0x80) break;  // a length of several bytes: long records go to other pages
    uint64_t bits;
    const uint8_t* const record = read_varint(cell + 1, end, bits);
    if (record == nullptr || payload > static_cast<size_t>(end - record)) break;
    const int64_t rowid = static_cast<int64_t>(bits);
    if ((rowid <= floor && !before_first) || rowid > ceiling) break;
    const size_t cell_end = std::max(offset + kSmallestCell, static_cast<size_t>(record - page) + payload);
    if (cell_end > lowest || !decoder_.store_integers(record, payload, rowid, first_row + count, latest)) break;
    floor = rowid;
    before_first = false;
    lowest = offset;
  }
  if (count == 0) return;
  decoder_.rows_were_stored(count);
  leaf_.next_cell += static_cast<uint32_t>(count);
  leaf_.lowest = lowest;
  last_rowid_ = floor_ = floor;
  before_first_ = false;
}

int TableReader::verify() {
  decoder_.begin_for_nobody();
  Cell cell;
  bool is_there;
  int status = seek_after(INT64_MIN);
  while (status == WAVESCOPE_PAGES_OK) {
    status = next_cell(cell, is_there);
    if (status != WAVESCOPE_PAGES_OK || !is_there) break;
    if (!is_apart(cell)) return corrupt(leaf_.number);
    status = store_row(cell);
    if (status == WAVESCOPE_PAGES_UNEXPECTED_VALUE) status = WAVESCOPE_PAGES_OK;
    decoder_.forget_row();
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
  outcome.rows = static_cast<int64_t>(decoder_.rows());
  outcome.last_rowid = last_rowid_;
  outcome.bad_page = bad_page_;
  outcome.error_number = source_.error_number();
  outcome.at_end = at_end_ ? 1 : 0;
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
  using Decoded = RecordDecoder::Decoded;
  Decoded decoded = decoder_.decode(cell.local, cell.local_bytes, cell.payload_bytes);
  if (decoded == Decoded::kNeedsOverflow) {
    decoder_.forget_row();
    const int status = assemble(cell);
    if (status != WAVESCOPE_PAGES_OK) return status;
    decoded = decoder_.decode(assembled_.data(), cell.payload_bytes, cell.payload_bytes);
  }
  if (decoded != Decoded::kRow) {
    decoder_.forget_row();
    return decoded == Decoded::kUnexpected ? static_cast<int>(WAVESCOPE_PAGES_UNEXPECTED_VALUE) : corrupt(leaf_.number);
  }
  decoder_.store_rowid(cell.rowid);
  return WAVESCOPE_PAGES_OK;
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
