// What the bulk writer builds, the reader reads back, for every page size and for several tables at once.
#include "tests/sqlite_fixture.h"

namespace wavescope::tests {
namespace {

void check_equal(const ReadBack& found, const Rows& expected) {
  CHECK(found.status == WAVESCOPE_PAGES_OK);
  CHECK(found.rows.rowids == expected.rowids);
  CHECK(found.rows.small == expected.small);
  CHECK(found.rows.large == expected.large);
  CHECK(found.rows.reals == expected.reals);
  CHECK(found.rows.offsets == expected.offsets);
  CHECK(found.rows.text == expected.text);
}

void two_tables_filled_side_by_side() {
  for (uint32_t page_bytes = 512; page_bytes <= 65536; page_bytes *= 2) {
    TemporaryFile file;
    file.write(empty_database(page_bytes, 2));
    const Rows first = many_rows(2000);
    const Rows second = many_rows(1);
    WavescopeBulkWriter* writer = open_writer(file);
    const int32_t first_table = add_table(writer, 2);
    const int32_t second_table = add_table(writer, 3);
    append_rows(writer, first_table, first);
    append_rows(writer, second_table, second);
    CHECK(wavescope_bulk_finish(writer) == WAVESCOPE_PAGES_OK);
    wavescope_bulk_close(writer);
    check_equal(read_back(file.path(), 2), first);
    check_equal(read_back(file.path(), 3), second);
    const Bytes bytes = file.read();
    CHECK(sqlite_pages::load_u32(bytes.data() + 28) == bytes.size() / page_bytes);
    CHECK(sqlite_pages::load_u32(bytes.data() + 24) == 8);
    CHECK(sqlite_pages::load_u32(bytes.data() + 92) == 8);
  }
}

void abort_and_close_leave_the_file_alone() {
  for (const bool explicitly : {true, false}) {
    TemporaryFile file;
    const Bytes before = empty_database(4096, 1);
    file.write(before);
    WavescopeBulkWriter* writer = open_writer(file);
    append_rows(writer, add_table(writer, 2), many_rows(50000));
    CHECK(file.size() > before.size());
    if (explicitly) CHECK(wavescope_bulk_abort(writer) == WAVESCOPE_PAGES_OK);
    wavescope_bulk_close(writer);
    CHECK(file.read() == before);
  }
}

// SQLite never uses the page at 1 GiB: it is where its locks are. The file is sparse, so this costs no disk.
void page_of_the_lock_byte_stays_unused() {
  constexpr uint32_t kPageBytes = 65536;
  constexpr uint32_t kLockPage = 0x40000000 / kPageBytes + 1;
  TemporaryFile file;
  Bytes head = empty_database(kPageBytes, 1);
  sqlite_pages::store_u32(head.data() + 28, kLockPage - 3);
  file.write(head);
  file.resize(static_cast<uint64_t>(kLockPage - 3) * kPageBytes);
  WavescopeBulkWriter* writer = open_writer(file);
  Rows rows;
  for (int index = 0; index < 3; ++index) rows.add(index + 1, index, index, 0, std::string(4 * kPageBytes, 'x'));
  append_rows(writer, add_table(writer, 2), rows);
  CHECK(wavescope_bulk_finish(writer) == WAVESCOPE_PAGES_OK);
  wavescope_bulk_close(writer);
  const ReadBack found = read_back(file.path(), 2);
  CHECK(found.status == WAVESCOPE_PAGES_OK && found.rows.text == rows.text);
  Bytes lock_page(kPageBytes, 1);
  const int descriptor = ::open(file.path(), O_RDONLY);
  CHECK(::pread(descriptor, lock_page.data(), kPageBytes, 0x40000000) == kPageBytes);
  ::close(descriptor);
  CHECK(lock_page == Bytes(kPageBytes, 0));
}

void refused_rows_and_files() {
  TemporaryFile file;
  file.write(empty_database(4096, 1));
  WavescopeBulkWriter* writer = open_writer(file);
  WavescopeBulkColumn column{};
  column.not_null = 1;
  column.has_missing = 1;
  column.missing_integer = -1;
  int32_t table = -1;
  CHECK(wavescope_bulk_add_table(writer, 9, &column, 1, &table) == WAVESCOPE_PAGES_BAD_ARGUMENT);
  CHECK(wavescope_bulk_add_table(writer, 1, &column, 1, &table) == WAVESCOPE_PAGES_BAD_ARGUMENT);
  CHECK(wavescope_bulk_add_table(writer, 2, &column, 1, &table) == WAVESCOPE_PAGES_OK);
  CHECK(wavescope_bulk_add_table(writer, 2, &column, 1, &table) == WAVESCOPE_PAGES_BAD_ARGUMENT);
  const int64_t numbers[] = {5, -1};
  const int64_t rowids[] = {1, 2};
  const WavescopeBulkValues values{WAVESCOPE_COLUMN_INTEGER, numbers, 8, nullptr, 0, nullptr};
  CHECK(wavescope_bulk_append(writer, table, 2, rowids, &values) == WAVESCOPE_PAGES_NULL_REFUSED);
  CHECK(wavescope_bulk_append(writer, table, 1, rowids, &values) == WAVESCOPE_PAGES_BAD_ARGUMENT);
  CHECK(wavescope_bulk_finish(writer) == WAVESCOPE_PAGES_BAD_ARGUMENT);
  wavescope_bulk_close(writer);

  writer = open_writer(file);
  CHECK(wavescope_bulk_add_table(writer, 2, &column, 1, &table) == WAVESCOPE_PAGES_OK);
  const int64_t backwards[] = {2, 2};
  const WavescopeBulkValues fives{WAVESCOPE_COLUMN_INTEGER, numbers, 0, nullptr, 0, nullptr};
  CHECK(wavescope_bulk_append(writer, table, 2, backwards, &fives) == WAVESCOPE_PAGES_NOT_INCREASING);
  wavescope_bulk_close(writer);

  Bytes with_freelist = empty_database(4096, 1);
  sqlite_pages::store_u32(with_freelist.data() + 36, 1);
  file.write(with_freelist);
  int32_t error_number = 0;
  CHECK(wavescope_bulk_open(file.path(), &writer, &error_number) == WAVESCOPE_PAGES_UNSUPPORTED);
  CHECK(wavescope_bulk_open("/nonexistent/file", &writer, &error_number) == WAVESCOPE_PAGES_IO_ERROR);
  CHECK(error_number == ENOENT);
}

}  // namespace
}  // namespace wavescope::tests

int main() {
  wavescope::tests::two_tables_filled_side_by_side();
  wavescope::tests::abort_and_close_leave_the_file_alone();
  wavescope::tests::page_of_the_lock_byte_stays_unused();
  wavescope::tests::refused_rows_and_files();
  return 0;
}
