// Perfetto packets: read as far as they are track events, then from one byte further on, as readers do after others.
#include <cstdint>
#include <vector>

#include "fuzz/require.h"
#include "trace_encoder/trace_encoder.h"

namespace {

constexpr std::size_t kRows = 9;
constexpr std::size_t kColumns = 16;
constexpr int kMostCalls = 50;

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::vector<std::uint8_t> copy(data, data + size);
  const auto byte_count = static_cast<std::int64_t>(size);
  std::vector<std::vector<std::int64_t>> columns(kColumns, std::vector<std::int64_t>(kRows));
  std::int64_t position = 0;
  for (int calls = 0; calls < kMostCalls && position < byte_count; ++calls) {
    WavescopeTrackEvents events{};
    events.capacity = events.flow_capacity = events.argument_capacity = kRows;
    std::int64_t** const arrays[kColumns] = {&events.timestamp,     &events.track,         &events.sequence,
                                             &events.type,          &events.name,          &events.name_offset,
                                             &events.name_size,     &events.category,      &events.second_category,
                                             &events.flow_row,      &events.flow_id,       &events.argument_row,
                                             &events.argument_name, &events.argument_kind, &events.argument_value,
                                             &events.argument_size};
    for (std::size_t each = 0; each < kColumns; ++each) *arrays[each] = columns[each].data();
    const std::int64_t before = position;
    const int stop = wavescope_perfetto_events(copy.data(), byte_count, &position, &events);
    REQUIRE(position >= before && position <= byte_count);
    REQUIRE(events.rows <= static_cast<std::int64_t>(kRows) && events.flows <= static_cast<std::int64_t>(kRows));
    REQUIRE(events.arguments <= static_cast<std::int64_t>(kRows));
    for (std::size_t row = 0; row < static_cast<std::size_t>(events.rows); ++row) {
      const std::int64_t offset = events.name_offset[row];
      REQUIRE(offset < 0 || (events.name_size[row] >= 0 && offset + events.name_size[row] <= byte_count));
    }
    for (std::size_t each = 0; each < static_cast<std::size_t>(events.arguments); ++each) {
      if (events.argument_kind[each] != 2) continue;
      REQUIRE(events.argument_value[each] >= 0 && events.argument_size[each] >= 0);
      REQUIRE(events.argument_value[each] + events.argument_size[each] <= byte_count);
    }
    if (stop != WAVESCOPE_PACKETS_FULL || position == before) ++position;
  }
  return 0;
}
