#include "sqlite_pages/bulk_writer.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace wavescope::sqlite_pages {

namespace {
constexpr int32_t kMostColumns = 32767;  // SQLite's hard limit
constexpr uint32_t kSchemaFormatWithConstants = 4;

}  // namespace

BulkWriter::~BulkWriter() {
  if (!is_over_) abort();
  if (descriptor_ >= 0) ::close(descriptor_);
}

int BulkWriter::open(const char* path) {
  descriptor_ = ::open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
  struct stat facts{};
  if (descriptor_ < 0 || ::fstat(descriptor_, &facts) != 0) return failed_call();
  uint8_t first[kFileHeaderBytes];
  if (!S_ISREG(facts.st_mode) || facts.st_size < static_cast<off_t>(sizeof first)) return WAVESCOPE_PAGES_UNSUPPORTED;
  if (!read_exactly(0, first, sizeof first)) return failed_call();
  if (!parse_file_header(first, header_)) return WAVESCOPE_PAGES_UNSUPPORTED;
  const int status = check_header();
  if (status != WAVESCOPE_PAGES_OK) return status;
  if (static_cast<uint64_t>(facts.st_size) != static_cast<uint64_t>(header_.page_count) * header_.page_bytes) {
    return WAVESCOPE_PAGES_UNSUPPORTED;
  }
  pages_.begin(descriptor_, header_.page_bytes, header_.page_count);
  is_usable_ = true;
  is_over_ = false;
  return WAVESCOPE_PAGES_OK;
}

int BulkWriter::check_header() const {
  const bool rollback_journal = header_.write_version == 1 && header_.read_version == 1;
  const bool no_freelist = header_.first_freelist_page == 0 && header_.freelist_pages == 0;
  const bool count_valid = header_.page_count > 0 && header_.change_counter == header_.version_valid_for;
  const bool plain = header_.largest_root == 0 && header_.encoding == 1;
  return rollback_journal && no_freelist && count_valid && plain ? WAVESCOPE_PAGES_OK : WAVESCOPE_PAGES_UNSUPPORTED;
}

int BulkWriter::add_table(uint32_t root_page, const WavescopeBulkColumn* columns, int32_t column_count, int32_t* table) {
  if (!is_usable_ || column_count < 1 || column_count > kMostColumns) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  if (root_page < 2 || root_page > header_.page_count) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  for (const TableBuilder& other : tables_) {
    if (other.root_page() == root_page) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  }
  uint8_t root[kLeafHeaderBytes];
  const uint64_t offset = static_cast<uint64_t>(root_page - 1) * header_.page_bytes;
  if (!read_exactly(offset, root, sizeof root)) return failed_call();
  if (root[0] != kLeafTable || load_u16(root + 3) != 0) return WAVESCOPE_PAGES_UNSUPPORTED;
  RecordEncoder encoder(std::vector<WavescopeBulkColumn>(columns, columns + column_count),
                        header_.schema_format >= kSchemaFormatWithConstants);
  tables_.emplace_back(root_page, header_.page_bytes, header_.usable_bytes, std::move(encoder));
  *table = static_cast<int32_t>(tables_.size()) - 1;
  return WAVESCOPE_PAGES_OK;
}

int BulkWriter::append(int32_t table, int64_t rows, const int64_t* rowids, const WavescopeBulkValues* values) {
  if (!is_usable_ || table < 0 || static_cast<size_t>(table) >= tables_.size() || rows < 0) {
    return WAVESCOPE_PAGES_BAD_ARGUMENT;
  }
  if (rows == 0) return WAVESCOPE_PAGES_OK;
  const int status = tables_[static_cast<size_t>(table)].append(pages_, rows, rowids, values);
  is_usable_ = status == WAVESCOPE_PAGES_OK;
  return status;
}

int BulkWriter::finish() {
  if (!is_usable_) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  is_usable_ = false;
  for (TableBuilder& table : tables_) {
    if (table.is_empty()) continue;
    const int status = table.finish(pages_);
    if (status != WAVESCOPE_PAGES_OK) return status;
  }
  int status = pages_.flush();
  if (status != WAVESCOPE_PAGES_OK) return status;
  is_over_ = true;  // from here on the file changes for good
  return write_roots_and_header();
}

int BulkWriter::write_roots_and_header() {
  for (const TableBuilder& table : tables_) {
    if (table.is_empty()) continue;
    const uint64_t offset = static_cast<uint64_t>(table.root_page() - 1) * header_.page_bytes;
    const int status = pages_.overwrite(offset, table.root().data(), table.root().size());
    if (status != WAVESCOPE_PAGES_OK) return status;
  }
  uint8_t counters[8];
  store_u32(counters, header_.change_counter + 1);
  store_u32(counters + 4, pages_.page_count());
  const int status = pages_.overwrite(24, counters, sizeof counters);
  if (status != WAVESCOPE_PAGES_OK) return status;
  return pages_.overwrite(92, counters, 4);
}

int BulkWriter::abort() {
  is_usable_ = false;
  if (is_over_) return WAVESCOPE_PAGES_OK;
  is_over_ = true;
  const uint64_t length = static_cast<uint64_t>(header_.page_count) * header_.page_bytes;
  if (::ftruncate(descriptor_, static_cast<off_t>(length)) != 0) return failed_call();
  return WAVESCOPE_PAGES_OK;
}

bool BulkWriter::read_exactly(uint64_t offset, uint8_t* target, size_t count) {
  errno = EIO;  // what a short read is reported as
  return ::pread(descriptor_, target, count, static_cast<off_t>(offset)) == static_cast<ssize_t>(count);
}

int BulkWriter::failed_call() {
  error_number_ = errno;
  return WAVESCOPE_PAGES_IO_ERROR;
}

}  // namespace wavescope::sqlite_pages
