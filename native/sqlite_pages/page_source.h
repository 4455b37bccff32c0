// Pages of a file through pread: a file cut short meanwhile gives an error, where a mapping would kill the process.
#ifndef WAVESCOPE_SQLITE_PAGE_SOURCE_H
#define WAVESCOPE_SQLITE_PAGE_SOURCE_H

#include <array>
#include <cstddef>
#include <cstdint>
#include <vector>

#include "sqlite_pages/page_format.h"

namespace wavescope::sqlite_pages {

class PageSource {
 public:
  PageSource() = default;
  ~PageSource();
  PageSource(const PageSource&) = delete;
  PageSource& operator=(const PageSource&) = delete;

  // A WavescopePagesStatus. Only regular files that begin with a SQLite header are accepted.
  int open(const char* path);

  // The page's bytes followed by kReadSlack readable ones, valid until the next call; nullptr when it cannot be read.
  const uint8_t* page(uint32_t number);

  // Copies one page without disturbing the read-ahead of page(); false when it cannot be read.
  bool copy_page(uint32_t number, uint8_t* target);

  const FileHeader& header() const { return header_; }
  uint32_t page_count() const { return page_count_; }
  int error_number() const { return error_number_; }  // 0 when the last failure was a page outside the file

 private:
  // Two windows: leaves stream through one while interior pages, which lie elsewhere, come and go in the other.
  struct Window {
    uint64_t begin = 0;
    uint64_t end = 0;
    uint64_t span = 0;
    std::vector<uint8_t> bytes;
  };

  const uint8_t* fill(Window& window, uint64_t offset, uint64_t span);
  bool read_fully(uint64_t offset, uint8_t* target, uint64_t count);

  int descriptor_ = -1;
  int error_number_ = 0;
  uint32_t page_count_ = 0;
  FileHeader header_;
  std::array<Window, 2> windows_;
  size_t latest_ = 0;
};

}  // namespace wavescope::sqlite_pages

#endif
