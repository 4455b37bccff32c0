#include "sqlite_pages/table_builder.h"

#include <algorithm>
#include <cstring>
#include <utility>

namespace wavescope::sqlite_pages {

TableBuilder::TableBuilder(uint32_t root_page, uint32_t page_bytes, uint32_t usable_bytes, RecordEncoder encoder)
    : encoder_(std::move(encoder)),
      split_(usable_bytes),
      root_page_(root_page),
      usable_bytes_(usable_bytes),
      page_(page_bytes),
      scratch_(page_bytes) {
  start_leaf();
}

int TableBuilder::append(PageAppender& pages, int64_t rows, const int64_t* rowids, const WavescopeBulkValues* values) {
  int status = encoder_.begin(values);
  if (status != WAVESCOPE_PAGES_OK) return status;
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t rowid = rowids[row];
    if (!is_empty_ && rowid <= last_rowid_) return WAVESCOPE_PAGES_NOT_INCREASING;
    status = encoder_.encode(row);
    if (status != WAVESCOPE_PAGES_OK) return status;
    status = add_record(pages, rowid);
    if (status != WAVESCOPE_PAGES_OK) return status;
    last_rowid_ = rowid;
    is_empty_ = false;
  }
  return WAVESCOPE_PAGES_OK;
}

int TableBuilder::add_record(PageAppender& pages, int64_t rowid) {
  const uint64_t payload = encoder_.record_bytes();
  const uint64_t local = split_.local(payload);
  uint8_t prefix[18];
  uint8_t* prefix_end = write_varint(write_varint(prefix, payload), static_cast<uint64_t>(rowid));
  const size_t prefix_bytes = static_cast<size_t>(prefix_end - prefix);
  const size_t cell_bytes = prefix_bytes + static_cast<size_t>(local) + (local < payload ? 4 : 0);
  if (content_begin_ < kLeafHeaderBytes + 2 * (cells_ + 1) + cell_bytes) {
    const int status = close_leaf(pages);
    if (status != WAVESCOPE_PAGES_OK) return status;
  }
  content_begin_ -= cell_bytes;
  uint8_t* cell = page_.data() + content_begin_;
  std::memcpy(cell, prefix, prefix_bytes);
  std::memcpy(cell + prefix_bytes, encoder_.record(), local);
  store_u16(page_.data() + kLeafHeaderBytes + 2 * cells_, content_begin_);
  ++cells_;
  if (local == payload) return WAVESCOPE_PAGES_OK;
  store_u32(cell + prefix_bytes + local, pages.next_number());
  return add_overflow(pages, encoder_.record() + local, payload - local);
}

int TableBuilder::add_overflow(PageAppender& pages, const uint8_t* bytes, uint64_t count) {
  while (count > 0) {
    const uint64_t part = std::min(count, split_.overflow_bytes);
    const uint32_t after = count > part ? pages.following(pages.next_number()) : 0;
    std::fill(scratch_.begin(), scratch_.end(), uint8_t{0});
    store_u32(scratch_.data(), after);
    std::memcpy(scratch_.data() + 4, bytes, part);
    uint32_t number;
    const int status = pages.append(scratch_.data(), &number);
    if (status != WAVESCOPE_PAGES_OK) return status;
    bytes += part;
    count -= part;
  }
  return WAVESCOPE_PAGES_OK;
}

int TableBuilder::close_leaf(PageAppender& pages) {
  finish_leaf_header();
  uint32_t number;
  const int status = pages.append(page_.data(), &number);
  if (status != WAVESCOPE_PAGES_OK) return status;
  leaves_.push_back({number, last_rowid_});
  start_leaf();
  return WAVESCOPE_PAGES_OK;
}

void TableBuilder::start_leaf() {
  std::fill(page_.begin(), page_.end(), uint8_t{0});
  cells_ = 0;
  content_begin_ = usable_bytes_;
}

void TableBuilder::finish_leaf_header() {
  page_[0] = kLeafTable;
  store_u16(page_.data() + 3, cells_);
  store_u16(page_.data() + 5, content_begin_ & 0xffff);  // 65536 is written as 0
}

int TableBuilder::finish(PageAppender& pages) {
  if (leaves_.empty()) {
    finish_leaf_header();
    root_ = page_;
    return WAVESCOPE_PAGES_OK;
  }
  int status = close_leaf(pages);
  std::vector<Child> level = std::move(leaves_);
  while (status == WAVESCOPE_PAGES_OK && fitting_children(level, 0) < level.size()) {
    status = build_level(pages, level);
  }
  if (status != WAVESCOPE_PAGES_OK) return status;
  fill_interior(level.data(), level.size());
  root_ = scratch_;
  return WAVESCOPE_PAGES_OK;
}

// Replaces `level` by the interior pages above it.
int TableBuilder::build_level(PageAppender& pages, std::vector<Child>& level) {
  std::vector<Child> above;
  size_t first = 0;
  while (first < level.size()) {
    size_t count = fitting_children(level, first);
    // SQLite calls an interior page with a single child corrupt, so the last page takes one from its neighbour.
    if (level.size() - first - count == 1) --count;
    fill_interior(level.data() + first, count);
    uint32_t number;
    const int status = pages.append(scratch_.data(), &number);
    if (status != WAVESCOPE_PAGES_OK) return status;
    above.push_back({number, level[first + count - 1].largest_rowid});
    first += count;
  }
  level = std::move(above);
  return WAVESCOPE_PAGES_OK;
}

// How many children from `first` on one interior page can hold; the last of them needs no cell.
size_t TableBuilder::fitting_children(const std::vector<Child>& level, size_t first) const {
  size_t used = kInteriorHeaderBytes;
  size_t count = 0;
  while (first + count < level.size()) {
    used += 2 + 4 + varint_bytes(static_cast<uint64_t>(level[first + count].largest_rowid));
    if (used > usable_bytes_) return count + 1;
    ++count;
  }
  return count;
}

void TableBuilder::fill_interior(const Child* children, size_t count) {
  std::fill(scratch_.begin(), scratch_.end(), uint8_t{0});
  size_t content_begin = usable_bytes_;
  for (size_t index = 0; index + 1 < count; ++index) {
    const uint64_t key = static_cast<uint64_t>(children[index].largest_rowid);
    content_begin -= 4 + varint_bytes(key);
    store_u32(scratch_.data() + content_begin, children[index].page);
    write_varint(scratch_.data() + content_begin + 4, key);
    store_u16(scratch_.data() + kInteriorHeaderBytes + 2 * index, content_begin);
  }
  scratch_[0] = kInteriorTable;
  store_u16(scratch_.data() + 3, count - 1);
  store_u16(scratch_.data() + 5, content_begin & 0xffff);
  store_u32(scratch_.data() + 8, children[count - 1].page);
}

}  // namespace wavescope::sqlite_pages
