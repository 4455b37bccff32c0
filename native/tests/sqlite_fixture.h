// Database files for tests: the smallest schema that the page code accepts, and whole files to damage.
#ifndef WAVESCOPE_TESTS_SQLITE_FIXTURE_H
#define WAVESCOPE_TESTS_SQLITE_FIXTURE_H

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "sqlite_pages/page_format.h"
#include "sqlite_pages/sqlite_pages.h"
#include "tests/check.h"

namespace wavescope::tests {

using Bytes = std::vector<uint8_t>;

// A file that is removed with the object.
class TemporaryFile {
 public:
  TemporaryFile() {
    char name[] = "/tmp/wavescope-test-XXXXXX";
    descriptor_ = ::mkstemp(name);
    CHECK(descriptor_ >= 0);
    path_ = name;
  }
  ~TemporaryFile() {
    ::close(descriptor_);
    ::unlink(path_.c_str());
  }
  TemporaryFile(const TemporaryFile&) = delete;
  TemporaryFile& operator=(const TemporaryFile&) = delete;

  void write(const Bytes& bytes) {
    CHECK(::ftruncate(descriptor_, 0) == 0);
    CHECK(::pwrite(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
  }
  void patch(uint64_t offset, const Bytes& bytes) {
    CHECK(::pwrite(descriptor_, bytes.data(), bytes.size(), static_cast<off_t>(offset)) ==
          static_cast<ssize_t>(bytes.size()));
  }
  void resize(uint64_t size) { CHECK(::ftruncate(descriptor_, static_cast<off_t>(size)) == 0); }
  uint64_t size() const {
    struct stat facts{};
    CHECK(::fstat(descriptor_, &facts) == 0);
    return static_cast<uint64_t>(facts.st_size);
  }
  Bytes read() const {
    Bytes bytes(static_cast<size_t>(size()));
    CHECK(::pread(descriptor_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size()));
    return bytes;
  }
  const char* path() const { return path_.c_str(); }

 private:
  int descriptor_;
  std::string path_;
};

// Page 1 with an empty schema, then `tables` empty table roots: pages 2, 3, ...
inline Bytes empty_database(uint32_t page_bytes, uint32_t tables) {
  using namespace sqlite_pages;
  Bytes file(static_cast<size_t>(page_bytes) * (1 + tables));
  std::memcpy(file.data(), "SQLite format 3", 16);
  store_u16(file.data() + 16, page_bytes == kLargestPage ? 1 : page_bytes);
  const uint8_t versions_and_fractions[] = {1, 1, 0, 64, 32, 32};
  std::memcpy(file.data() + 18, versions_and_fractions, sizeof versions_and_fractions);
  store_u32(file.data() + 24, 7);
  store_u32(file.data() + 28, 1 + tables);
  store_u32(file.data() + 44, 4);
  store_u32(file.data() + 56, 1);
  store_u32(file.data() + 92, 7);
  for (uint32_t page = 0; page <= tables; ++page) {
    uint8_t* header = file.data() + static_cast<size_t>(page) * page_bytes + (page == 0 ? kFileHeaderBytes : 0);
    header[0] = kLeafTable;
    store_u16(header + 5, page_bytes & 0xffff);
  }
  return file;
}

// Columns of one table in memory: two integers, a real and a text.
struct Rows {
  std::vector<int64_t> rowids, small, large, offsets{0};
  std::vector<double> reals;
  Bytes text, nulls;

  void add(int64_t rowid, int64_t small_value, int64_t large_value, double real, const std::string& value) {
    rowids.push_back(rowid);
    small.push_back(small_value);
    large.push_back(large_value);
    reals.push_back(real);
    text.insert(text.end(), value.begin(), value.end());
    offsets.push_back(static_cast<int64_t>(text.size()));
    nulls.push_back(value.empty() ? 1 : 0);
  }
};

// Rows with gaps in the rowids, integers of all sizes and some texts that need overflow pages.
inline Rows many_rows(int count) {
  Rows rows;
  for (int index = 0; index < count; ++index) {
    const int64_t large = static_cast<int64_t>(0x7fffffffffffffffULL >> (index % 64)) * (index % 2 == 0 ? 1 : -1);
    const size_t length = index % 50 == 49 ? 3000 : static_cast<size_t>(index % 40);
    const std::string text(length, static_cast<char>('a' + index % 26));
    rows.add(1 + index * 3, index % 5 - 2, large, index * 0.5, text);
  }
  return rows;
}

inline void append_rows(WavescopeBulkWriter* writer, int32_t table, const Rows& rows) {
  const WavescopeBulkValues values[] = {
      {WAVESCOPE_COLUMN_NULL, nullptr, 0, nullptr, 0, nullptr},
      {WAVESCOPE_COLUMN_INTEGER, rows.small.data(), 8, nullptr, 0, nullptr},
      {WAVESCOPE_COLUMN_INTEGER, rows.large.data(), 8, nullptr, 0, nullptr},
      {WAVESCOPE_COLUMN_REAL, rows.reals.data(), 8, nullptr, 0, nullptr},
      {WAVESCOPE_COLUMN_TEXT, rows.offsets.data(), 0, rows.text.data(), static_cast<int64_t>(rows.text.size()),
       rows.nulls.data()},
  };
  const int64_t count = static_cast<int64_t>(rows.rowids.size());
  CHECK(wavescope_bulk_append(writer, table, count, rows.rowids.data(), values) == WAVESCOPE_PAGES_OK);
}

inline int32_t add_table(WavescopeBulkWriter* writer, uint32_t root_page) {
  const WavescopeBulkColumn columns[5] = {};
  int32_t table = -1;
  CHECK(wavescope_bulk_add_table(writer, root_page, columns, 5, &table) == WAVESCOPE_PAGES_OK);
  return table;
}

inline WavescopeBulkWriter* open_writer(const TemporaryFile& file) {
  WavescopeBulkWriter* writer = nullptr;
  int32_t error_number = 0;
  CHECK(wavescope_bulk_open(file.path(), &writer, &error_number) == WAVESCOPE_PAGES_OK);
  return writer;
}

// Reads the columns that append_rows wrote, until the end or an error.
struct ReadBack {
  Rows rows;
  int status = WAVESCOPE_PAGES_OK;
  uint32_t bad_page = 0;
  int verified = WAVESCOPE_PAGES_OK;
};

inline ReadBack read_back(const char* path, uint32_t root_page, int64_t block_rows = 100) {
  const WavescopeReadColumn columns[] = {
      {WAVESCOPE_COLUMN_IS_ROWID, WAVESCOPE_COLUMN_INTEGER, 0, -1},
      {4, WAVESCOPE_COLUMN_TEXT, 0, 0},
      {1, WAVESCOPE_COLUMN_INTEGER, 0, -1},
      {2, WAVESCOPE_COLUMN_INTEGER, 0, -1},
      {3, WAVESCOPE_COLUMN_REAL, 0, 0},
  };
  ReadBack result;
  WavescopeTableReader* reader = nullptr;
  int32_t error_number = 0;
  result.status = wavescope_table_reader_open(path, root_page, columns, 5, &reader, &error_number);
  result.verified = result.status;
  if (result.status != WAVESCOPE_PAGES_OK) return result;
  WavescopeReadOutcome outcome{};
  result.status = wavescope_table_reader_seek_after(reader, INT64_MIN, &outcome);
  const size_t room = static_cast<size_t>(block_rows);
  std::vector<int64_t> rowids(room), offsets(room + 1), small(room), large(room);
  std::vector<double> reals(room);
  Bytes nulls(room);
  const WavescopeReadTarget targets[] = {
      {rowids.data(), nullptr}, {offsets.data(), nulls.data()}, {small.data(), nullptr},
      {large.data(), nullptr},  {reals.data(), nullptr},
  };
  while (result.status == WAVESCOPE_PAGES_OK) {
    result.status = wavescope_table_reader_read(reader, block_rows, INT64_MAX, 1 << 20, targets, &outcome);
    result.bad_page = outcome.bad_page;
    const uint8_t* text = nullptr;
    int64_t text_bytes = 0;
    CHECK(wavescope_table_reader_text(reader, 1, &text, &text_bytes) == WAVESCOPE_PAGES_OK);
    for (size_t row = 0; row < static_cast<size_t>(outcome.rows); ++row) {
      CHECK(offsets[row] <= offsets[row + 1] && offsets[row + 1] <= text_bytes);
      const std::string value(text + offsets[row], text + offsets[row + 1]);
      CHECK(result.rows.rowids.empty() || rowids[row] > result.rows.rowids.back());
      result.rows.add(rowids[row], small[row], large[row], reals[row], value);
    }
    if (outcome.rows == 0) break;
  }
  result.verified = wavescope_table_reader_verify(reader, &outcome);
  wavescope_table_reader_close(reader);
  return result;
}

}  // namespace wavescope::tests

#endif
