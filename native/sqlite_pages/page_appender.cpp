#include "sqlite_pages/page_appender.h"

#include <unistd.h>

#include <cerrno>

#include "sqlite_pages/page_format.h"
#include "sqlite_pages/sqlite_pages.h"

namespace wavescope::sqlite_pages {

namespace {
constexpr size_t kBufferBytes = 1024 * 1024;
constexpr uint32_t kLargestPageNumber = 0xfffffffe;
}  // namespace

void PageAppender::begin(int descriptor, uint32_t page_bytes, uint32_t page_count) {
  descriptor_ = descriptor;
  page_bytes_ = page_bytes;
  page_count_ = written_pages_ = page_count;
  pending_byte_page_ = static_cast<uint32_t>(kPendingByte / page_bytes) + 1;
  buffer_.reserve(kBufferBytes + 2 * static_cast<size_t>(page_bytes));
}

uint32_t PageAppender::following(uint32_t number) const {
  if (number >= kLargestPageNumber - 1) return 0;
  return number + 1 == pending_byte_page_ ? number + 2 : number + 1;
}

int PageAppender::append(const uint8_t* page, uint32_t* number) {
  *number = next_number();
  if (*number == 0) return WAVESCOPE_PAGES_TOO_LARGE;
  const size_t unused_pages = *number - page_count_ - 1;
  buffer_.resize(buffer_.size() + unused_pages * page_bytes_);
  buffer_.insert(buffer_.end(), page, page + page_bytes_);
  page_count_ = *number;
  return buffer_.size() < kBufferBytes ? static_cast<int>(WAVESCOPE_PAGES_OK) : flush();
}

int PageAppender::flush() {
  const int status = overwrite(static_cast<uint64_t>(written_pages_) * page_bytes_, buffer_.data(), buffer_.size());
  if (status != WAVESCOPE_PAGES_OK) return status;
  written_pages_ = page_count_;
  buffer_.clear();
  return WAVESCOPE_PAGES_OK;
}

int PageAppender::overwrite(uint64_t offset, const uint8_t* bytes, uint64_t count) {
  while (count > 0) {
    const ssize_t done = ::pwrite(descriptor_, bytes, count, static_cast<off_t>(offset));
    if (done < 0) {
      if (errno == EINTR) continue;
      error_number_ = errno;
      return WAVESCOPE_PAGES_IO_ERROR;
    }
    bytes += done;
    offset += static_cast<uint64_t>(done);
    count -= static_cast<uint64_t>(done);
  }
  return WAVESCOPE_PAGES_OK;
}

}  // namespace wavescope::sqlite_pages
