// Texts of rocm-trace-lite about a dispatch, one in each line.
#include <cstdint>
#include <vector>

#include "fuzz/require.h"
#include "sqlite_pages/sqlite_pages.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> copy(data, data + size);
  std::vector<std::int64_t> offsets{0};
  for (std::size_t at = 0; at < size; ++at) {
    if (data[at] == '\n') offsets.push_back(static_cast<std::int64_t>(at));
  }
  offsets.push_back(static_cast<std::int64_t>(size));
  const auto count = static_cast<std::int64_t>(offsets.size() - 1);
  std::vector<std::int64_t> rows(static_cast<std::size_t>(count) * 7);
  REQUIRE(wavescope_parse_dispatch_info(copy.data(), static_cast<std::int64_t>(size), offsets.data(), count, rows.data()) ==
          WAVESCOPE_PAGES_OK);
  // The first of each seven is an address, of which all bits count.
  for (std::size_t at = 0; at < rows.size(); ++at) REQUIRE(at % 7 == 0 || rows[at] >= -1);
  return 0;
}
