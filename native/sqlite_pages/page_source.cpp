#include "sqlite_pages/page_source.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>

#include "sqlite_pages/sqlite_pages.h"

namespace wavescope::sqlite_pages {

namespace {
constexpr uint64_t kFirstSpan = 16 * 1024;
constexpr uint64_t kLargestSpan = 256 * 1024;
}  // namespace

PageSource::~PageSource() {
  if (descriptor_ >= 0) ::close(descriptor_);
}

int PageSource::open(const char* path) {
  // Without O_NONBLOCK the open of a FIFO would wait for a writer.
  descriptor_ = ::open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (descriptor_ < 0) {
    error_number_ = errno;
    return WAVESCOPE_PAGES_IO_ERROR;
  }
  struct stat facts{};
  if (::fstat(descriptor_, &facts) != 0) {
    error_number_ = errno;
    return WAVESCOPE_PAGES_IO_ERROR;
  }
  uint8_t first[kFileHeaderBytes];
  if (!S_ISREG(facts.st_mode) || facts.st_size < static_cast<off_t>(sizeof first)) return WAVESCOPE_PAGES_UNSUPPORTED;
  if (!read_fully(0, first, sizeof first)) return WAVESCOPE_PAGES_IO_ERROR;
  if (!parse_file_header(first, header_) || header_.read_version > 2 || header_.encoding != 1) {
    return WAVESCOPE_PAGES_UNSUPPORTED;
  }
  const uint64_t pages = static_cast<uint64_t>(facts.st_size) / header_.page_bytes;
  page_count_ = static_cast<uint32_t>(std::min<uint64_t>(pages, UINT32_MAX - 1));
  return WAVESCOPE_PAGES_OK;
}

const uint8_t* PageSource::page(uint32_t number) {
  error_number_ = 0;
  if (number < 1 || number > page_count_) return nullptr;
  const uint64_t offset = static_cast<uint64_t>(number - 1) * header_.page_bytes;
  for (size_t index = 0; index < windows_.size(); ++index) {
    Window& window = windows_[index];
    if (offset >= window.begin && offset + header_.page_bytes <= window.end) {
      latest_ = index;
      return window.bytes.data() + (offset - window.begin);
    }
  }
  for (size_t index = 0; index < windows_.size(); ++index) {
    Window& window = windows_[index];
    const bool goes_on = window.span != 0 && offset >= window.end && offset - window.end < window.span;
    if (goes_on) {
      latest_ = index;
      return fill(window, offset, std::min(window.span * 2, kLargestSpan));
    }
  }
  latest_ = 1 - latest_;
  return fill(windows_[latest_], offset, kFirstSpan);
}

bool PageSource::copy_page(uint32_t number, uint8_t* target) {
  error_number_ = 0;
  if (number < 1 || number > page_count_) return false;
  return read_fully(static_cast<uint64_t>(number - 1) * header_.page_bytes, target, header_.page_bytes);
}

const uint8_t* PageSource::fill(Window& window, uint64_t offset, uint64_t span) {
  const uint64_t file_end = static_cast<uint64_t>(page_count_) * header_.page_bytes;
  span = std::max<uint64_t>(span, header_.page_bytes);
  const uint64_t count = std::min(span, file_end - offset);
  window.begin = window.end = 0;
  window.span = span;
  if (window.bytes.size() < count + kReadSlack) window.bytes.resize(count + kReadSlack);
  if (!read_fully(offset, window.bytes.data(), count)) return nullptr;
  window.begin = offset;
  window.end = offset + count;
  return window.bytes.data();
}

bool PageSource::read_fully(uint64_t offset, uint8_t* target, uint64_t count) {
  while (count > 0) {
    const ssize_t got = ::pread(descriptor_, target, count, static_cast<off_t>(offset));
    if (got < 0) {
      if (errno == EINTR) continue;
      error_number_ = errno;
      return false;
    }
    if (got == 0) {  // the file has become shorter than it was
      error_number_ = EIO;
      return false;
    }
    target += got;
    offset += static_cast<uint64_t>(got);
    count -= static_cast<uint64_t>(got);
  }
  return true;
}

}  // namespace wavescope::sqlite_pages
