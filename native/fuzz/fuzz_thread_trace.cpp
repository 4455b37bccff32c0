// Wave files, and what their waits waited for.
#include <cstdint>
#include <string>
#include <vector>

#include "fuzz/require.h"
#include "thread_trace/thread_trace.h"

namespace {

constexpr std::int64_t kEvents = 64;
constexpr std::int64_t kLists = 16;
constexpr std::int64_t kProducers = 32;

struct Columns {
  std::vector<std::int64_t> time = std::vector<std::int64_t>(kEvents);
  std::vector<std::uint8_t> category = std::vector<std::uint8_t>(kEvents);
  std::vector<std::int32_t> stall = std::vector<std::int32_t>(kEvents);
  std::vector<std::int32_t> duration = std::vector<std::int32_t>(kEvents);
  std::vector<std::int32_t> line = std::vector<std::int32_t>(kEvents);
  std::vector<std::int32_t> wait_line = std::vector<std::int32_t>(kLists);
  std::vector<std::int64_t> producer_end = std::vector<std::int64_t>(kLists);
  std::vector<std::int32_t> producer_line = std::vector<std::int32_t>(kProducers);
  WavescopeWaveColumns given{};

  Columns() {
    given.event_capacity = kEvents;
    given.time = time.data();
    given.category = category.data();
    given.stall = stall.data();
    given.duration = duration.data();
    given.line = line.data();
    given.list_capacity = kLists;
    given.wait_line = wait_line.data();
    given.producer_end = producer_end.data();
    given.producer_capacity = kProducers;
    given.producer_line = producer_line.data();
  }
};

// Actions made of bytes of the input, for as many rows as it has events.
void find_dependencies(const Columns& columns, const std::uint8_t* data, std::size_t size) {
  if (size < sizeof(WavescopeCounterAction) + sizeof(WavescopeCounterFamily)) return;
  std::vector<WavescopeCounterAction> actions(1);
  WavescopeCounterFamily family;
  __builtin_memcpy(actions.data(), data, sizeof(WavescopeCounterAction));
  __builtin_memcpy(&family, data + sizeof(WavescopeCounterAction), sizeof family);
  const std::int64_t offsets[2] = {0, columns.given.event_count};
  const std::vector<std::int32_t> action_of_row(8, 0);
  std::vector<std::int64_t> wait_event(kLists), producer_end(kLists), producer_event(kProducers);
  std::vector<std::uint8_t> counter(kLists);
  WavescopeDependencies found{kLists,     0, wait_event.data(),    counter.data(), producer_end.data(),
                              kProducers, 0, producer_event.data()};
  if (wavescope_wait_dependencies(columns.line.data(), offsets, 1, action_of_row.data(),
                                  static_cast<std::int64_t>(action_of_row.size()), actions.data(), 1, &family,
                                  &found) == 0) {
    REQUIRE(found.list_count <= kLists && found.producer_count <= kProducers);
  }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string padded =
      std::string(reinterpret_cast<const char*>(data), size) + std::string(WAVESCOPE_WAVE_PADDING, '\0');
  Columns columns;
  WavescopeWaveFacts facts{};
  const WavescopeWaveStatus status = wavescope_wave_read(padded.data(), size, &columns.given, &facts);
  REQUIRE(columns.given.event_count >= 0 && columns.given.event_count <= kEvents);
  REQUIRE(columns.given.list_count >= 0 && columns.given.list_count <= kLists);
  REQUIRE(columns.given.producer_count >= 0 && columns.given.producer_count <= kProducers);
  REQUIRE(status != WAVESCOPE_WAVE_FULL || columns.given.event_count == 0);
  std::int64_t end = 0;
  for (std::int64_t list = 0; list < columns.given.list_count; ++list) {
    REQUIRE(columns.producer_end[static_cast<std::size_t>(list)] >= end);
    end = columns.producer_end[static_cast<std::size_t>(list)];
  }
  REQUIRE(end <= columns.given.producer_count);
  find_dependencies(columns, data, size);
  return 0;
}
