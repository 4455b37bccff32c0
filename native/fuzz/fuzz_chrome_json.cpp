// Chrome trace event JSON in pieces of any size; the first byte of the input says how large they are.
#include <cstdint>
#include <vector>

#include "chrome_json/chrome_json.h"
#include "fuzz/require.h"

namespace {

constexpr std::size_t kCapacity = 7;  // small, so that batches fill up

struct Columns {
  std::vector<std::uint8_t> bytes[3];
  std::vector<std::int32_t> codes[5];
  std::vector<std::int64_t> numbers[4 + WAVESCOPE_CHROME_ARGUMENT_COUNT];
  WavescopeChromeColumns given{};

  Columns() {
    for (auto& column : bytes) column.resize(kCapacity);
    for (auto& column : codes) column.resize(kCapacity);
    for (auto& column : numbers) column.resize(kCapacity);
    given.phase = bytes[0].data();
    given.flags = bytes[1].data();
    given.id_kind = bytes[2].data();
    given.name = codes[0].data();
    given.category = codes[1].data();
    given.kind = codes[2].data();
    given.process = codes[3].data();
    given.thread = codes[4].data();
    given.id = numbers[0].data();
    given.start_ns = numbers[1].data();
    given.duration_ns = numbers[2].data();
    given.args_end = numbers[3].data();
    for (int each = 0; each < WAVESCOPE_CHROME_ARGUMENT_COUNT; ++each) given.arguments[each] = numbers[4 + each].data();
  }
};

// Every row's args end where those of the next begin, within the blob.
void check_batch(WavescopeChromeParser* parser, const Columns& columns, std::size_t rows) {
  std::size_t size = 0;
  const char* args = wavescope_chrome_args(parser, &size);
  std::int64_t end = 0;
  for (std::size_t row = 0; row < rows; ++row) {
    REQUIRE(columns.given.args_end[row] >= end);
    end = columns.given.args_end[row];
  }
  REQUIRE(end <= static_cast<std::int64_t>(size));
  REQUIRE(size == 0 || args != nullptr);
}

void check_tables(WavescopeChromeParser* parser) {
  for (const auto table : {WAVESCOPE_CHROME_TEXTS, WAVESCOPE_CHROME_KEYS, WAVESCOPE_CHROME_METADATA}) {
    const std::int64_t* ends = nullptr;
    std::size_t count = 0;
    wavescope_chrome_take(parser, table, &ends, &count);
    for (std::size_t each = 1; each < count; ++each) REQUIRE(ends[each - 1] <= ends[each]);
  }
}

WavescopeChromeStatus read_all(WavescopeChromeParser* parser, Columns& columns) {
  for (;;) {
    std::size_t rows = 0;
    const WavescopeChromeStatus status = wavescope_chrome_next(parser, &columns.given, kCapacity, &rows);
    REQUIRE(rows <= kCapacity);
    check_batch(parser, columns, rows);
    check_tables(parser);
    if (status != WAVESCOPE_CHROME_BATCH_FULL) return status;
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::size_t piece = 1 + data[0] * std::size_t{5};
  WavescopeChromeParser* parser = wavescope_chrome_open();
  REQUIRE(parser != nullptr);
  wavescope_chrome_drop_args(parser, "cpu_op", 6);
  Columns columns;
  for (std::size_t at = 1; at < size; at += piece) {
    const std::size_t length = size - at < piece ? size - at : piece;
    const std::vector<char> copy(data + at, data + at + length);  // so that reading beyond it is seen
    if (wavescope_chrome_feed(parser, copy.data(), copy.size()) != 0) break;
    if (read_all(parser, columns) == WAVESCOPE_CHROME_ERROR) break;
  }
  wavescope_chrome_finish(parser);
  read_all(parser, columns);
  std::int64_t offset = 0;
  REQUIRE(wavescope_chrome_error(parser, &offset) != nullptr);
  wavescope_chrome_close(parser);
  return 0;
}
