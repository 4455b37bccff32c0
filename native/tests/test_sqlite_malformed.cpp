// Damaged files give rows up to the damage and then a status: never a crash, a hang or rows out of order.
#include <random>

#include "tests/sqlite_fixture.h"

namespace wavescope::tests {
namespace {

Bytes filled_database(uint32_t page_bytes, int rows) {
  TemporaryFile file;
  file.write(empty_database(page_bytes, 1));
  WavescopeBulkWriter* writer = open_writer(file);
  append_rows(writer, add_table(writer, 2), many_rows(rows));
  CHECK(wavescope_bulk_finish(writer) == WAVESCOPE_PAGES_OK);
  wavescope_bulk_close(writer);
  return file.read();
}

void try_to_fill(const TemporaryFile& file) {
  WavescopeBulkWriter* writer = nullptr;
  int32_t error_number = 0;
  if (wavescope_bulk_open(file.path(), &writer, &error_number) != WAVESCOPE_PAGES_OK) return;
  const WavescopeBulkColumn columns[5] = {};
  int32_t table = -1;
  if (wavescope_bulk_add_table(writer, 2, columns, 5, &table) == WAVESCOPE_PAGES_OK) {
    append_rows(writer, table, many_rows(3));
  }
  wavescope_bulk_close(writer);
}

void flipped_bytes() {
  std::mt19937 random(20240607);
  TemporaryFile file;
  int damaged = 0;
  for (const uint32_t page_bytes : {512u, 4096u}) {
    const Bytes good = filled_database(page_bytes, 400);
    const size_t rows = many_rows(400).rowids.size();
    for (int round = 0; round < 1500; ++round) {
      Bytes bytes = good;
      const int flips = 1 + static_cast<int>(random() % 8);
      for (int flip = 0; flip < flips; ++flip) {
        // Every other flip hits the first bytes of a page, where the headers are.
        const size_t page = random() % (bytes.size() / page_bytes);
        const size_t within = random() % (flip % 2 == 0 ? page_bytes : 40);
        bytes[page * page_bytes + within] = static_cast<uint8_t>(random());
      }
      file.write(bytes);
      const ReadBack found = read_back(file.path(), 2, 1 + static_cast<int64_t>(random() % 64));
      CHECK(found.rows.rowids.size() <= bytes.size());
      // Whoever verifies first hears of the same damage; behind a value of another kind there may be more.
      if (found.status != WAVESCOPE_PAGES_UNEXPECTED_VALUE) CHECK(found.verified == found.status);
      if (found.status != WAVESCOPE_PAGES_OK || found.rows.rowids.size() != rows) ++damaged;
      try_to_fill(file);
    }
  }
  CHECK(damaged > 600);  // otherwise the damage did not reach what is tested
}

void truncated_files() {
  const Bytes good = filled_database(1024, 300);
  TemporaryFile file;
  for (size_t size = 0; size < good.size(); size += size < 300 ? 7 : 211) {
    file.write(Bytes(good.begin(), good.begin() + static_cast<ptrdiff_t>(size)));
    const ReadBack found = read_back(file.path(), 2);
    CHECK(found.status != WAVESCOPE_PAGES_OK);
    try_to_fill(file);
  }
}

void noise_behind_a_good_header() {
  std::mt19937 random(7);
  TemporaryFile file;
  for (int round = 0; round < 500; ++round) {
    Bytes bytes = empty_database(512, 30);
    for (size_t at = 512; at < bytes.size(); ++at) bytes[at] = static_cast<uint8_t>(random());
    for (size_t page = 1; page < 31; ++page) bytes[page * 512] = random() % 3 == 0 ? 0x0d : 0x05;
    file.write(bytes);
    read_back(file.path(), static_cast<uint32_t>(2 + random() % 40));
  }
}

// Pages that point at each other: a child that is its own parent, and many parents of one child.
void loops_end() {
  using namespace sqlite_pages;
  for (const uint32_t target : {2u, 3u}) {
    Bytes bytes = empty_database(512, 2);
    for (const size_t page : {size_t{1}, size_t{2}}) {
      uint8_t* interior = bytes.data() + page * 512;
      interior[0] = kInteriorTable;
      store_u16(interior + 3, 1);
      store_u32(interior + 8, target);
      store_u16(interior + 12, 500);
      store_u32(interior + 500, target);
      interior[504] = 9;
    }
    TemporaryFile file;
    file.write(bytes);
    const ReadBack found = read_back(file.path(), 2);
    CHECK(found.status == WAVESCOPE_PAGES_CORRUPT && found.rows.rowids.empty());
  }
}

void rows_before_the_damage_are_kept() {
  Bytes bytes = filled_database(512, 400);
  const size_t whole = 400;
  bytes[bytes.size() / 2 / 512 * 512] = 0x77;  // no such kind of page; in an overflow page it is a wrong pointer
  TemporaryFile file;
  file.write(bytes);
  const ReadBack found = read_back(file.path(), 2);
  CHECK(found.status == WAVESCOPE_PAGES_CORRUPT);
  CHECK(!found.rows.rowids.empty() && found.rows.rowids.size() < whole);
  const Rows expected = many_rows(400);
  for (size_t row = 0; row < found.rows.rowids.size(); ++row) {
    CHECK(found.rows.rowids[row] == expected.rowids[row] && found.rows.large[row] == expected.large[row]);
  }
}

void dispatch_text_of_any_bytes() {
  std::mt19937 random(3);
  const std::string pieces[] = {"hwq=0x", "wg=", "grid=", ",", " ", "1", "18446744073709551616", "ff", "-"};
  for (int round = 0; round < 2000; ++round) {
    std::string text;
    for (unsigned piece = 0; piece < random() % 12; ++piece) text += pieces[random() % 9];
    const Bytes bytes(text.begin(), text.end());  // an exact allocation: reading past it is seen
    const int64_t offsets[] = {0, static_cast<int64_t>(bytes.size())};
    int64_t fields[7];
    CHECK(wavescope_parse_dispatch_info(bytes.data(), offsets[1], offsets, 1, fields) == WAVESCOPE_PAGES_OK);
    for (int index = 1; index < 7; ++index) CHECK(fields[index] >= -1);
  }
  const int64_t wrong_offsets[] = {0, 5};
  int64_t fields[7];
  CHECK(wavescope_parse_dispatch_info(nullptr, 0, wrong_offsets, 1, fields) == WAVESCOPE_PAGES_BAD_ARGUMENT);
}

}  // namespace
}  // namespace wavescope::tests

int main() {
  wavescope::tests::flipped_bytes();
  wavescope::tests::truncated_files();
  wavescope::tests::noise_behind_a_good_header();
  wavescope::tests::loops_end();
  wavescope::tests::rows_before_the_damage_are_kept();
  wavescope::tests::dispatch_text_of_any_bytes();
  return 0;
}
