// Builds the b-tree of one table from records in rowid order: full leaves first, the levels above them at the end.
#ifndef WAVESCOPE_SQLITE_TABLE_BUILDER_H
#define WAVESCOPE_SQLITE_TABLE_BUILDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

#include "sqlite_pages/page_appender.h"
#include "sqlite_pages/page_format.h"
#include "sqlite_pages/record_encoder.h"

namespace wavescope::sqlite_pages {

class TableBuilder {
 public:
  TableBuilder(uint32_t root_page, uint32_t page_bytes, uint32_t usable_bytes, RecordEncoder encoder);

  // A WavescopePagesStatus, as from the other functions.
  int append(PageAppender& pages, int64_t rows, const int64_t* rowids, const WavescopeBulkValues* values);
  // Appends what is left and the levels above; afterwards root() is the page to write at root_page().
  int finish(PageAppender& pages);

  uint32_t root_page() const { return root_page_; }
  bool is_empty() const { return is_empty_; }
  const std::vector<uint8_t>& root() const { return root_; }

 private:
  struct Child {
    uint32_t page;
    int64_t largest_rowid;
  };

  int add_record(PageAppender& pages, int64_t rowid);
  int add_overflow(PageAppender& pages, const uint8_t* bytes, uint64_t count);
  int close_leaf(PageAppender& pages);
  void start_leaf();
  void finish_leaf_header();
  int build_level(PageAppender& pages, std::vector<Child>& level);
  size_t fitting_children(const std::vector<Child>& level, size_t first) const;
  void fill_interior(const Child* children, size_t count);

  RecordEncoder encoder_;
  PayloadSplit split_;
  uint32_t root_page_;
  uint32_t usable_bytes_;
  std::vector<uint8_t> page_;     // the leaf being filled
  std::vector<uint8_t> scratch_;  // interior and overflow pages
  std::vector<uint8_t> root_;
  std::vector<Child> leaves_;
  size_t cells_ = 0;
  size_t content_begin_ = 0;
  int64_t last_rowid_ = 0;
  bool is_empty_ = true;
};

}  // namespace wavescope::sqlite_pages

#endif
