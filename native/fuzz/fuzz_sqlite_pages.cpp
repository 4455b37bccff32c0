// Tables of a SQLite file, page by page. The last byte of the input says which root page and in which order.
#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/require.h"
#include "sqlite_pages/sqlite_pages.h"

namespace {

constexpr std::int64_t kRows = 5;  // small, so that reading stops in the middle of pages
constexpr std::int64_t kMostRows = 4'000;
constexpr std::int32_t kColumns = 5;

void read_rows(WavescopeTableReader* reader, std::int64_t most_bytes) {
  std::vector<std::int64_t> numbers(kRows), rowids(kRows), offsets(kRows + 1), more_offsets(kRows + 1);
  std::vector<double> reals(kRows);
  std::vector<std::uint8_t> nulls(kRows), more_nulls(kRows);
  const WavescopeReadTarget targets[kColumns] = {{rowids.data(), nullptr},
                                                 {numbers.data(), nullptr},
                                                 {offsets.data(), nulls.data()},
                                                 {reals.data(), nullptr},
                                                 {more_offsets.data(), more_nulls.data()}};
  std::int64_t last = INT64_MIN;
  for (std::int64_t read = 0; read < kMostRows;) {
    WavescopeReadOutcome outcome{};
    const int status = wavescope_table_reader_read(reader, kRows, INT64_MAX, 1 << 12, targets, &outcome);
    REQUIRE(outcome.rows >= 0 && outcome.rows <= kRows);
    for (std::int64_t row = 0; row < outcome.rows; ++row) {
      const std::int64_t rowid = rowids[static_cast<std::size_t>(row)];
      REQUIRE(read + row == 0 || rowid > last);  // whoever reads relies on that order
      last = rowid;
    }
    const std::uint8_t* text = nullptr;
    std::int64_t byte_count = 0;
    REQUIRE(wavescope_table_reader_text(reader, 2, &text, &byte_count) == WAVESCOPE_PAGES_OK);
    REQUIRE(byte_count >= 0 && byte_count <= most_bytes);
    REQUIRE(outcome.rows == 0 || offsets[static_cast<std::size_t>(outcome.rows)] <= byte_count);
    if (status != WAVESCOPE_PAGES_OK || outcome.at_end || outcome.rows == 0) return;
    read += outcome.rows;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < 2) return 0;
  static const int file = memfd_create("fuzzed.db", 0);
  static const std::string path = "/proc/self/fd/" + std::to_string(file);
  const std::uint8_t choice = data[size - 1];
  REQUIRE(ftruncate(file, 0) == 0);
  REQUIRE(pwrite(file, data, size - 1, 0) == static_cast<ssize_t>(size - 1));
  const WavescopeReadColumn columns[kColumns] = {{WAVESCOPE_COLUMN_IS_ROWID, WAVESCOPE_COLUMN_INTEGER, 0, -1},
                                                 {choice & 1, WAVESCOPE_COLUMN_INTEGER, 0, -1},
                                                 {1 + (choice >> 1 & 1), WAVESCOPE_COLUMN_TEXT, 0, 0},
                                                 {3, WAVESCOPE_COLUMN_REAL, choice >> 2 & 1, 0},
                                                 {4, WAVESCOPE_COLUMN_TEXT, 1, 0}};
  const std::int32_t column_count = choice & 8 ? kColumns : 3;
  WavescopeTableReader* reader = nullptr;
  std::int32_t error_number = 0;
  const auto root_page = static_cast<std::uint32_t>(1 + (choice >> 4));
  const int opened = wavescope_table_reader_open(path.c_str(), root_page, columns, column_count, &reader, &error_number);
  if (opened != WAVESCOPE_PAGES_OK) {
    REQUIRE(reader == nullptr);
    return 0;
  }
  // A text may be said to be longer than the file, and its pages may be read again and again: that has a limit.
  const auto most_bytes = static_cast<std::int64_t>(size) * 2 * kRows + (1 << 13);
  for (const std::int64_t rowid : {INT64_MIN, static_cast<std::int64_t>(choice & 15)}) {
    WavescopeReadOutcome outcome{};
    if (wavescope_table_reader_seek_after(reader, rowid, &outcome) == WAVESCOPE_PAGES_OK) read_rows(reader, most_bytes);
  }
  wavescope_table_reader_close(reader);
  return 0;
}
