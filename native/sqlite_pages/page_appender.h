// Hands out page numbers behind the end of a database file and writes those pages in order, in large blocks.
#ifndef WAVESCOPE_SQLITE_PAGE_APPENDER_H
#define WAVESCOPE_SQLITE_PAGE_APPENDER_H

#include <cstddef>
#include <cstdint>
#include <vector>

namespace wavescope::sqlite_pages {

class PageAppender {
 public:
  void begin(int descriptor, uint32_t page_bytes, uint32_t page_count);

  // The number that the next append will give, 0 when the file is as long as SQLite allows.
  uint32_t next_number() const { return following(page_count_); }
  // The number given after `number`.
  uint32_t following(uint32_t number) const;

  // Appends one page; a WavescopePagesStatus. *number is its page number.
  int append(const uint8_t* page, uint32_t* number);
  int flush();
  // Overwrites bytes that are in the file already.
  int overwrite(uint64_t offset, const uint8_t* bytes, uint64_t count);

  uint32_t page_count() const { return page_count_; }
  int error_number() const { return error_number_; }

 private:
  int descriptor_ = -1;
  int error_number_ = 0;
  uint32_t page_bytes_ = 0;
  uint32_t page_count_ = 0;      // including pages still in the buffer
  uint32_t written_pages_ = 0;
  uint32_t pending_byte_page_ = 0;
  std::vector<uint8_t> buffer_;
};

}  // namespace wavescope::sqlite_pages

#endif
