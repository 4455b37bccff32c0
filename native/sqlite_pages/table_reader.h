// Walks the leaves of one table b-tree in rowid order; a decoder gets each record. Damage ends the walk.
#ifndef WAVESCOPE_SQLITE_TABLE_READER_H
#define WAVESCOPE_SQLITE_TABLE_READER_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sqlite_pages/page_source.h"
#include "sqlite_pages/record_decoder.h"
#include "sqlite_pages/sqlite_pages.h"

namespace wavescope::sqlite_pages {

class TableReader {
 public:
  // A WavescopePagesStatus, as from the other functions.
  int open(const char* path, uint32_t root_page, const WavescopeReadColumn* columns, int32_t column_count);
  int seek_after(int64_t rowid);
  int read(int64_t max_rows, int64_t last_rowid, int64_t text_limit_bytes, const WavescopeReadTarget* targets);
  // Walks through all rows and decodes what is wanted of them; values of another kind are no damage.
  int verify();

  void describe(WavescopeReadOutcome& outcome) const;
  const std::vector<uint8_t>* text(int32_t target) const { return decoder_.text(target); }
  int error_number() const { return source_.error_number(); }

 private:
  struct Interior {
    std::vector<uint8_t> page;
    uint32_t cells = 0;
    uint32_t next_child = 0;  // equal to `cells`: the right-most child
    int64_t lower = 0;        // rowids of the current child are greater, unless this is the smallest there is
    int64_t passed = 0;       // key of the current child: the lower bound of the next one
    int64_t upper = 0;        // no rowid below this page is greater
  };
  struct Leaf {
    const uint8_t* page = nullptr;
    uint32_t number = 0;
    uint32_t cells = 0;
    uint32_t next_cell = 0;
    size_t lowest = 0;  // where the lowest of the cells so far begins
    bool is_apart = false;  // whether all cells are known not to overlap
  };
  struct Cell {
    size_t begin = 0;  // within the page
    size_t end = 0;
    const uint8_t* local = nullptr;  // the part of the record inside the leaf
    uint64_t local_bytes = 0;
    uint64_t payload_bytes = 0;
    uint32_t overflow_page = 0;
    int64_t rowid = 0;
  };
  static constexpr size_t kNoDepth = SIZE_MAX;

  int enter(uint32_t number);
  int enter_interior(uint32_t number, const uint8_t* page);
  int enter_leaf(uint32_t number, const uint8_t* page);
  int next_leaf();
  // For each row, and so in place: a call would cost as much as the check.
  [[gnu::always_inline]] inline int next_cell(Cell& cell, bool& is_there);
  void read_plain_rows(int64_t max_rows, int64_t last_rowid);
  bool take_child(Interior& interior, uint32_t& child);
  [[gnu::always_inline]] inline bool is_apart(const Cell& cell);
  bool leaf_cells_are_apart();
  bool interior_cells_are_apart(const Interior& interior);
  bool spans_are_apart();
  int choose_child(Interior& interior, uint32_t number, int64_t after);
  int skip_cells(int64_t after);
  bool parse_cell(uint32_t index, Cell& cell) const;
  bool interior_cell(const Interior& interior, uint32_t index, uint32_t& child, int64_t& key, size_t* end = nullptr) const;
  int assemble(const Cell& cell);
  int store_row(const Cell& cell);
  int corrupt(uint32_t page_number);
  int unreadable(uint32_t page_number);

  PageSource source_;
  PayloadSplit split_;
  uint32_t root_page_ = 0;
  RecordDecoder decoder_;
  std::vector<Interior> interiors_;   // the path from the root; only the first depth_ are in use
  size_t depth_ = 0;
  Leaf leaf_;
  std::vector<bool> visited_;         // a page belongs to a tree once: this ends every loop
  std::vector<uint8_t> assembled_;
  std::vector<uint8_t> overflow_page_;
  int64_t last_rowid_ = INT64_MIN;
  int64_t floor_ = INT64_MIN;         // the next rowid must be greater, by the rows before it and the pages above it
  int64_t ceiling_ = INT64_MAX;       // no rowid of this leaf may be greater, by the pages above it
  size_t leaf_depth_ = kNoDepth;      // all leaves of a tree are equally far from its root
  std::vector<uint64_t> spans_;       // begin and end of each cell of a page
  bool before_first_ = true;          // no row was handed out yet: any rowid is greater
  bool at_end_ = false;
  uint32_t bad_page_ = 0;
};

}  // namespace wavescope::sqlite_pages

#endif
