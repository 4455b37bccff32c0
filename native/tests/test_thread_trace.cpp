// Wave files become columns; cut and spoiled ones leave what came before; counters find producers.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "thread_trace/thread_trace.h"

namespace {

const std::string kWave =
    R"({"duration":9,"wave":{"begin":10,"cu":1,"end":400,"id":0,"instructions":[[10,1,0,4,1],[14,9,100,100,2,7],)"
    R"([120,6,2,6,3]],"simd":2,"slot":3,"timeline":[[2,4],[3,100]],"waitcnt":[[2,[[1,0],[3,0]]],[5,[]]]}})";

// Room for everything a text can hold, and the text with its padding.
struct Columns {
  explicit Columns(const std::string& wave, std::size_t capacity)
      : text(wave + std::string(WAVESCOPE_WAVE_PADDING, '\0')),
        time(capacity),
        category(capacity),
        stall(capacity),
        duration(capacity),
        line(capacity),
        wait(capacity),
        ends(capacity),
        producer(capacity) {
    const auto room = static_cast<int64_t>(capacity);
    raw = {room,        0,    time.data(), category.data(), stall.data(), duration.data(), line.data(), room, 0, wait.data(),
           ends.data(), room, 0,           producer.data()};
  }

  WavescopeWaveStatus read() { return wavescope_wave_read(text.data(), text.size() - WAVESCOPE_WAVE_PADDING, &raw, &facts); }

  std::string text;
  std::vector<int64_t> time;
  std::vector<uint8_t> category;
  std::vector<int32_t> stall, duration, line;
  std::vector<int32_t> wait;
  std::vector<int64_t> ends;
  std::vector<int32_t> producer;
  WavescopeWaveColumns raw{};
  WavescopeWaveFacts facts{};
};

void check_whole_wave() {
  Columns columns(kWave, 64);
  CHECK(columns.read() == WAVESCOPE_WAVE_WHOLE);
  CHECK(columns.raw.event_count == 3);
  CHECK(columns.time[2] == 120 && columns.line[1] == 2 && columns.stall[1] == 100);
  CHECK(columns.raw.list_count == 2 && columns.ends[0] == 2 && columns.ends[1] == 2);
  CHECK(columns.producer[1] == 3);
  CHECK(columns.facts.begin == 10 && columns.facts.simd == 2 && columns.facts.unusable == 0);
}

void check_cut_waves() {
  for (std::size_t size = 0; size < kWave.size(); ++size) {
    Columns columns(kWave.substr(0, size), 64);
    const WavescopeWaveStatus status = columns.read();
    CHECK(status == WAVESCOPE_WAVE_CUT);
    CHECK(columns.raw.event_count <= 3 && columns.raw.list_count <= 2);
  }
}

void check_full_columns() {
  Columns columns(kWave, 2);
  CHECK(columns.read() == WAVESCOPE_WAVE_FULL);
  CHECK(columns.raw.event_count == 0 && columns.raw.list_count == 0);
}

void check_spoiled_waves() {
  std::mt19937 random(7);
  for (int round = 0; round < 20000; ++round) {
    std::string text = kWave;
    for (int spoiled = 0; spoiled < 3; ++spoiled) text[random() % text.size()] = static_cast<char>(random() % 256);
    Columns columns(text, 64);
    columns.read();
    CHECK(columns.raw.event_count <= 64);
  }
}

void check_counters() {
  // Row 0 loads on counter 0, row 1 waits until one load is outstanding, row 2 waits for none.
  WavescopeCounterAction actions[3] = {};
  actions[0].increments[0] = 1;
  for (WavescopeCounterAction& action : actions) action.shared_group = -1;
  actions[1].is_wait = actions[2].is_wait = 1;
  actions[1].waited = actions[2].waited = 1;
  actions[1].limits[0] = 1;
  WavescopeCounterFamily family = {{0, -1, -1, -1, -1, -1, -1, -1}, {}};
  const std::vector<int32_t> row = {0, 0, 1, 2, 99, -1, 0, 2};
  const std::vector<int64_t> offsets = {0, 6, 8};
  const std::vector<int32_t> action_of_row = {0, 1, 2};
  std::vector<int64_t> wait(8), ends(8), producer(8);
  std::vector<uint8_t> counter(8);
  WavescopeDependencies found = {8, 0, wait.data(), counter.data(), ends.data(), 8, 0, producer.data()};
  CHECK(wavescope_wait_dependencies(row.data(), offsets.data(), 2, action_of_row.data(), 3, actions, 3, &family, &found) ==
        0);
  CHECK(found.list_count == 3 && found.producer_count == 3);
  CHECK(wait[0] == 2 && producer[0] == 0 && wait[1] == 3 && producer[1] == 1 && wait[2] == 7 && producer[2] == 6);
  found = {1, 0, wait.data(), counter.data(), ends.data(), 8, 0, producer.data()};
  CHECK(wavescope_wait_dependencies(row.data(), offsets.data(), 2, action_of_row.data(), 3, actions, 3, &family, &found) ==
        1);
}

}  // namespace

int main() {
  check_whole_wave();
  check_cut_waves();
  check_full_columns();
  check_spoiled_waves();
  check_counters();
  return 0;
}
