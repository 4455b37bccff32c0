// What is drawn of lanes equals what a look at every range gives, for lanes of any size and at the edges of time.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.h"
#include "column_operators/column_operators.h"
#include "lane_pixels/lane_pixels.h"

namespace {

using Times = std::vector<int64_t>;
using Sums = std::vector<uint64_t>;
using Bytes = std::vector<uint8_t>;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
constexpr int32_t kColumns = 3;

int64_t size_of(const Times& values) { return static_cast<int64_t>(values.size()); }

// A lane with everything that is made of it once. Vectors are as large as they have to be, so that a sanitizer sees more.
template <typename Length>
struct Lane {
  Times starts;
  std::vector<Length> lengths;
  Bytes classes;
  Times block_starts;
  Sums longest;
  Bytes has_instant;
  Bytes columns = Bytes(256);
  Sums sums;

  void add(int64_t start, uint64_t length, uint8_t class_number) {
    starts.push_back(start);
    lengths.push_back(static_cast<Length>(length));
    classes.push_back(class_number);
  }

  WavescopeLane view() const {
    return {starts.data(), lengths.data(), size_of(starts), sizeof(Length), block_starts.data()};
  }

  void finish() {
    const std::size_t blocks = (starts.size() + WAVESCOPE_LANE_BLOCK - 1) / WAVESCOPE_LANE_BLOCK;
    block_starts.resize(blocks);
    longest.resize(blocks);
    has_instant.resize(blocks);
    WavescopeLane lane = view();
    CHECK(wavescope_lane_blocks(&lane, block_starts.data(), longest.data(), has_instant.data()) == 0);
    for (std::size_t number = 0; number < 256; ++number) columns[number] = static_cast<uint8_t>(number % kColumns);
    sums.resize((blocks + 1) * kColumns);
    lane = view();
    CHECK(wavescope_class_sums(&lane, classes.data(), columns.data(), kColumns, sums.data()) == 0);
  }

  uint64_t time_in(int64_t from, int64_t to, int column) const {
    uint64_t time = 0;
    for (std::size_t row = 0; row < starts.size(); ++row) {
      const int64_t end = static_cast<int64_t>(static_cast<uint64_t>(starts[row]) + lengths[row]);
      const int64_t first = std::max(from, starts[row]);
      const int64_t last = std::min(to, end);
      const bool is_meant = column < 0 || columns[classes[row]] == column;
      if (is_meant && first < last) time += static_cast<uint64_t>(last) - static_cast<uint64_t>(first);
    }
    return time;
  }
};

template <typename Length>
Lane<Length> random_lane(unsigned seed, int count, int64_t at) {
  std::mt19937_64 random(seed);
  Lane<Length> lane;
  const int64_t unit = sizeof(Length) == 8 ? int64_t{1} << 33 : 1;
  for (int row = 0; row < count; ++row) {
    at += static_cast<int64_t>(random() % 4) * unit;
    const uint64_t length = random() % 5 == 0 ? 0 : (random() % 12) * static_cast<uint64_t>(unit);
    lane.add(at, length, static_cast<uint8_t>(random() % 6));
    at += static_cast<int64_t>(length);
  }
  lane.finish();
  return lane;
}

Times edges_over(int64_t from, int64_t width, int count) {
  Times edges;
  for (int edge = 0; edge <= count; ++edge) edges.push_back(from + edge * width);
  return edges;
}

template <typename Length>
void check_class_times(const Lane<Length>& lane, const Times& edges) {
  const std::size_t pixels = edges.size() - 1;
  Sums times(pixels * kColumns);
  const WavescopeLane view = lane.view();
  CHECK(wavescope_class_times(&view, lane.classes.data(), lane.columns.data(), kColumns, lane.sums.data(), edges.data(),
                              size_of(edges) - 1, times.data()) == 0);
  for (int column = 0; column < kColumns; ++column) {
    for (std::size_t pixel = 0; pixel < pixels; ++pixel) {
      const uint64_t expected = lane.time_in(edges[pixel], edges[pixel + 1], column);
      CHECK(times[static_cast<std::size_t>(column) * pixels + pixel] == expected);
    }
  }
}

template <typename Length>
void times_of_classes(int64_t unit) {
  for (const int count : {0, 1, 255, 256, 257, 1000}) {
    const auto lane = random_lane<Length>(static_cast<unsigned>(count), count, -20 * unit);
    for (const int64_t width : {int64_t{1}, 7 * unit, 900 * unit, 50000 * unit}) {
      for (const int64_t from : {-30 * unit, 100 * unit, 3000 * unit}) check_class_times(lane, edges_over(from, width, 20));
    }
    check_class_times(lane, {kMin, kMax});
    check_class_times(lane, {kMin, 0, 0, kMax});
  }
}

void times_at_the_ends_of_time() {
  Lane<uint64_t> lane;
  lane.add(kMin, std::numeric_limits<uint64_t>::max(), 1);
  lane.finish();
  check_class_times(lane, {kMin, -5, 5, kMax});
}

std::vector<WavescopeLane> views(const std::vector<Lane<uint32_t>>& lanes) {
  std::vector<WavescopeLane> found;
  for (const auto& lane : lanes) found.push_back(lane.view());
  return found;
}

// The covered time between two times, nanosecond by nanosecond.
uint64_t covered_between(const std::vector<Lane<uint32_t>>& lanes, int64_t from, int64_t to) {
  std::vector<bool> is_covered(static_cast<std::size_t>(to - from));
  for (const auto& lane : lanes) {
    for (std::size_t row = 0; row < lane.starts.size(); ++row) {
      const int64_t last = std::min(to, lane.starts[row] + lane.lengths[row]);
      for (int64_t time = std::max(from, lane.starts[row]); time < last; ++time) {
        is_covered[static_cast<std::size_t>(time - from)] = true;
      }
    }
  }
  return static_cast<uint64_t>(std::count(is_covered.begin(), is_covered.end(), true));
}

// The moments of a walk that has room for some at a time.
void check_cover(const std::vector<Lane<uint32_t>>& lanes, std::size_t room) {
  const std::vector<WavescopeLane> given = views(lanes);
  const auto lane_count = static_cast<int32_t>(given.size());
  Times moments;
  Sums before;
  int64_t from = 0;
  uint64_t covered = 0;
  auto stored = static_cast<int64_t>(room);
  while (stored == static_cast<int64_t>(room)) {
    Times some(room);
    Sums some_before(room);
    stored = wavescope_cover_moments(given.data(), lane_count, &from, &covered, stored, some.data(), some_before.data());
    CHECK(stored >= 0);
    moments.insert(moments.end(), some.begin(), some.begin() + stored);
    before.insert(before.end(), some_before.begin(), some_before.begin() + stored);
  }
  CHECK(moments.size() > 5);
  CHECK(covered == covered_between(lanes, 0, from));
  for (const int64_t width : {int64_t{1}, int64_t{9}, 1 + from / 40}) {
    const Times edges = edges_over(-10, width, 40);
    Sums times(40);
    CHECK(wavescope_cover_times(given.data(), lane_count, moments.data(), before.data(), size_of(moments), edges.data(), 40,
                                times.data()) == 0);
    for (std::size_t pixel = 0; pixel < 40; ++pixel) {
      CHECK(times[pixel] == covered_between(lanes, edges[pixel], edges[pixel + 1]));
    }
  }
}

void time_that_lanes_cover() {
  std::vector<Lane<uint32_t>> lanes;
  for (const int count : {300, 40, 0, 1}) lanes.push_back(random_lane<uint32_t>(static_cast<unsigned>(count) + 9, count, 5));
  check_cover(lanes, 2);  // little room, so that the walk is taken up again and again
  check_cover(lanes, 1000);
}

void time_that_a_busy_lane_and_idle_ones_cover() {
  std::vector<Lane<uint32_t>> lanes{random_lane<uint32_t>(1, 2500, 0)};
  const int64_t span = lanes[0].starts.back();
  for (int number = 1; number < 6; ++number) {
    Lane<uint32_t> idle;
    for (int64_t at = 7 * number; at < span + 5000; at += 800 * number + 31) idle.add(at, 20, 0);
    idle.finish();
    lanes.push_back(idle);
  }
  check_cover(lanes, 1000);
}

void time_of_a_lane_that_becomes_slow() {
  // Seen from its fast part, the ranges of the other lane are far ahead; then they meet its own, come between them and
  // behind them.
  for (const Times& others : {Times{10, 1950, 5000}, Times{10, 1405, 1950, 5000}}) {
    std::vector<Lane<uint32_t>> lanes(2);
    for (int64_t at = 0; at < 1200; at += 2) lanes[0].add(at, 1, 0);
    for (int64_t at = 1200; at < 3000; at += 100) lanes[0].add(at, 10, 0);
    for (const int64_t at : others) lanes[1].add(at, 10, 0);
    for (auto& lane : lanes) lane.finish();
    check_cover(lanes, 1000);
  }
}

void time_after_a_range_that_covers_those_far_ahead() {
  // The long range ends behind two of the other lane's ranges; the next ones of that lane lie alone.
  std::vector<Lane<uint32_t>> lanes(2);
  for (int64_t at = 0; at < 1200; at += 2) lanes[0].add(at, 1, 0);
  lanes[0].add(1300, 700, 0);
  for (int64_t at = 3000; at < 3200; at += 2) lanes[0].add(at, 1, 0);
  for (const int64_t at : {int64_t{0}, int64_t{1990}, int64_t{2050}, int64_t{2150}}) lanes[1].add(at, 5, 0);
  for (auto& lane : lanes) lane.finish();
  check_cover(lanes, 1000);
}

void ranges_drawn_one_by_one() {
  const auto lane = random_lane<uint32_t>(4, 700, 0);
  const WavescopeLane view = lane.view();
  Times expected;
  for (std::size_t row = 0; row < lane.starts.size(); ++row) {
    const int64_t end = lane.starts[row] + lane.lengths[row];
    if (lane.lengths[row] >= 9 && lane.starts[row] < 4000 && end > 500) expected.push_back(static_cast<int64_t>(row));
  }
  Times places(expected.size());
  const auto find = [&](int64_t room) {
    return wavescope_wide_ranges(&view, lane.longest.data(), 500, 4000, 9, room, places.data());
  };
  CHECK(find(size_of(expected)) == size_of(expected));
  CHECK(places == expected);
  CHECK(find(3) == 3);
  const auto longest = static_cast<uint64_t>(*std::max_element(lane.lengths.begin(), lane.lengths.end()));
  CHECK(wavescope_wide_ranges(&view, lane.longest.data(), 0, kMax, longest, 1, places.data()) == 1);
  CHECK(lane.lengths[static_cast<std::size_t>(places[0])] == longest);
  CHECK(wavescope_wide_ranges(&view, lane.longest.data(), 0, kMax, longest + 1, 1, places.data()) == 0);
  CHECK(wavescope_wide_ranges(&view, lane.longest.data(), 500, 4000, 0, 1, places.data()) == -1);

  const Times edges = edges_over(-50, 100, 80);
  Times instants(80);
  instants.resize(
      static_cast<std::size_t>(wavescope_first_instants(&view, lane.has_instant.data(), edges.data(), 80, instants.data())));
  Times first_instants;
  int64_t last_pixel = -1;
  for (std::size_t row = 0; row < lane.starts.size(); ++row) {
    const int64_t pixel = (lane.starts[row] + 50) / 100;
    if (lane.lengths[row] != 0 || pixel == last_pixel || pixel >= 80) continue;
    first_instants.push_back(static_cast<int64_t>(row));
    last_pixel = pixel;
  }
  CHECK(instants == first_instants);
}

void means_of_series() {
  const Times times{0, 10, 10, 30};
  const std::vector<double> values{2, 5, std::nan(""), 8};
  double known = -1;
  double weighted = -1;
  wavescope_series_blocks(times.data(), values.data(), 4, &known, &weighted);
  CHECK(known == 10 && weighted == 20);
  const Times edges{-10, 0, 5, 20, 30, 40, 60};
  std::vector<float> means(6);
  wavescope_series_means(times.data(), values.data(), 4, 50, &known, &weighted, edges.data(), 6, means.data());
  CHECK(std::isnan(means[0]) && means[1] == 2 && means[2] == 2 && std::isnan(means[3]) && means[4] == 8 && means[5] == 8);
  wavescope_series_blocks(nullptr, nullptr, 0, nullptr, nullptr);
  wavescope_series_means(nullptr, nullptr, 0, 50, nullptr, nullptr, edges.data(), 6, means.data());
  CHECK(std::all_of(means.begin(), means.end(), [](float mean) { return std::isnan(mean); }));
}

void means_of_a_long_series() {
  // The value i holds for 10 ns from 10 * i on: the mean of whole ones is that of their numbers.
  constexpr int kValues = 1000;
  Times times;
  std::vector<double> values;
  for (int number = 0; number < kValues; ++number) {
    times.push_back(10 * number);
    values.push_back(number);
  }
  std::vector<double> known(4);
  std::vector<double> weighted(4);
  wavescope_series_blocks(times.data(), values.data(), kValues, known.data(), weighted.data());
  for (const int64_t last : {255, 256, 257, 511, 512, 700}) {
    const Times edges{0, 10 * last, 10 * last + 5, 10 * last + 15};
    std::vector<float> means(3);
    wavescope_series_means(times.data(), values.data(), kValues, 10 * kValues, known.data(), weighted.data(), edges.data(),
                           3, means.data());
    const auto value = static_cast<float>(last);
    CHECK(means[0] == (value - 1) / 2 && means[1] == value && means[2] == value + 0.5F);
  }
  // One that ends within the last value of a block.
  const Times edges{0, 2555};
  float mean = 0;
  wavescope_series_means(times.data(), values.data(), kValues, 10 * kValues, known.data(), weighted.data(), edges.data(), 1,
                         &mean);
  CHECK(mean == static_cast<float>((10.0 * 254 * 255 / 2 + 5 * 255) / 2555));
}

void what_cannot_be_used_is_refused() {
  Lane<uint32_t> lane;
  lane.add(0, 1, 0);
  lane.finish();
  WavescopeLane wrong = lane.view();
  wrong.length_bytes = 2;
  int64_t place = 0;
  uint64_t covered = 0;
  const Times edges{0, 1};
  CHECK(wavescope_lane_blocks(&wrong, nullptr, nullptr, nullptr) == 1);
  CHECK(wavescope_class_sums(&wrong, nullptr, lane.columns.data(), kColumns, nullptr) == 1);
  CHECK(wavescope_class_times(&wrong, nullptr, lane.columns.data(), kColumns, nullptr, nullptr, 0, nullptr) == 1);
  CHECK(wavescope_cover_moments(&wrong, 1, &place, &covered, 1, nullptr, nullptr) == -1);
  CHECK(wavescope_cover_times(&wrong, 1, nullptr, nullptr, 0, edges.data(), 1, nullptr) == 1);
  CHECK(wavescope_wide_ranges(&wrong, nullptr, 0, 1, 1, 1, nullptr) == -1);
  CHECK(wavescope_first_instants(&wrong, nullptr, edges.data(), 1, nullptr) == -1);
  const WavescopeLane right = lane.view();
  CHECK(wavescope_class_sums(&right, lane.classes.data(), lane.columns.data(), kColumns - 1, nullptr) == 1);
  CHECK(wavescope_class_sums(&right, lane.classes.data(), lane.columns.data(), 0, nullptr) == 1);
}

void classes_that_occur() {
  const Bytes values{7, 255, 7};
  Bytes seen(256, 9);
  wavescope_seen_bytes(values.data(), 3, seen.data());
  Bytes expected(256);
  expected[7] = expected[255] = 1;
  CHECK(seen == expected);
}

void lanes_for_ranges() {
  const Times starts{0, 0, 1, 4, 5, 9};
  const Times ends{9, 4, 3, 3, 6, 9};  // the fourth ends before its start
  Bytes lanes(6);
  Times free_at(2, kMin);
  CHECK(wavescope_pack_lanes(starts.data(), ends.data(), 6, 0, free_at.data(), 2, lanes.data()) == 1);
  CHECK((lanes == Bytes{0, 1, 255, 1, 1, 0}));
  CHECK((free_at == Times{9, 6}));
  free_at = {kMin, kMin};
  CHECK(wavescope_pack_lanes(starts.data(), ends.data(), 6, 1, free_at.data(), 2, lanes.data()) == 1);
  CHECK((lanes == Bytes{0, 1, 255, 1, 1, 0}));
  free_at = {kMin, 8, kMin};
  CHECK(wavescope_pack_lanes(starts.data(), ends.data(), 1, 1, free_at.data(), 3, lanes.data()) == 0);
  CHECK(lanes[0] == 2);
  CHECK(wavescope_pack_lanes(nullptr, nullptr, 0, 0, nullptr, 0, nullptr) == -1);
  CHECK(wavescope_pack_lanes(nullptr, nullptr, 0, 0, nullptr, 255, nullptr) == -1);
}

}  // namespace

int main() {
  times_of_classes<uint32_t>(1);
  times_of_classes<uint64_t>(int64_t{1} << 33);
  times_at_the_ends_of_time();
  time_that_lanes_cover();
  time_that_a_busy_lane_and_idle_ones_cover();
  time_after_a_range_that_covers_those_far_ahead();
  time_of_a_lane_that_becomes_slow();
  ranges_drawn_one_by_one();
  means_of_series();
  means_of_a_long_series();
  what_cannot_be_used_is_refused();
  classes_that_occur();
  lanes_for_ranges();
  return 0;
}
