// Passes over columns equal what plain loops and comparison sorts give, at the edges of every type too.
#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <utility>
#include <vector>

#include "check.h"
#include "column_operators/column_operators.h"

namespace {

using Numbers = std::vector<int64_t>;
using Groups = std::vector<uint16_t>;

constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
constexpr int64_t kMax = std::numeric_limits<int64_t>::max();

int64_t size_of(const Groups& groups) { return static_cast<int64_t>(groups.size()); }

// The values of each group in order, the groups one after another.
template <typename Value>
std::vector<Value> expected_order(const Groups& groups, const std::vector<Value>& values) {
  std::vector<std::pair<uint16_t, Value>> pairs;
  for (std::size_t i = 0; i < values.size(); ++i) pairs.emplace_back(groups[i], values[i]);
  std::sort(pairs.begin(), pairs.end());
  std::vector<Value> ordered;
  for (const auto& pair : pairs) ordered.push_back(pair.second);
  return ordered;
}

void check_counts(const Groups& groups, const Numbers& counts) {
  for (std::size_t group = 0; group < counts.size(); ++group) {
    CHECK(counts[group] == std::count(groups.begin(), groups.end(), static_cast<uint16_t>(group)));
  }
}

void compare_sorted(const Groups& groups, const Numbers& values, int32_t group_count) {
  Numbers sorted(values.size());
  Numbers counts(static_cast<std::size_t>(group_count));
  CHECK(wavescope_sort_within_groups(groups.data(), values.data(), size_of(groups), group_count, sorted.data(),
                                     counts.data()) == 0);
  CHECK(sorted == expected_order(groups, values));
  if (group_count < 100) check_counts(groups, counts);
}

void compare_sorted_short(const Groups& groups, const std::vector<uint32_t>& values, int32_t group_count) {
  std::vector<uint32_t> sorted(values.size());
  Numbers counts(static_cast<std::size_t>(group_count));
  CHECK(wavescope_sort_short_within_groups(groups.data(), values.data(), size_of(groups), group_count, sorted.data(),
                                           counts.data()) == 0);
  CHECK(sorted == expected_order(groups, values));
  if (group_count < 100) check_counts(groups, counts);
}

void random_values(int64_t lowest, int64_t highest, std::size_t count, int32_t group_count) {
  std::mt19937_64 random(count);
  std::uniform_int_distribution<int64_t> value(lowest, highest);
  std::uniform_int_distribution<int> group(0, group_count - 1);
  Groups groups(count);
  Numbers values(count);
  std::vector<uint32_t> short_values(count);
  for (std::size_t i = 0; i < count; ++i) {
    groups[i] = static_cast<uint16_t>(group(random));
    values[i] = value(random);
    short_values[i] = static_cast<uint32_t>(values[i]);
  }
  compare_sorted(groups, values, group_count);
  compare_sorted_short(groups, short_values, group_count);
}

void values_are_sorted_within_groups() {
  compare_sorted({}, {}, 0);
  compare_sorted({}, {}, 3);
  compare_sorted({0, 0, 2}, {5, 5, 5}, 4);
  compare_sorted({1, 0, 1, 0}, {kMax, kMin, kMin, kMax}, 2);
  compare_sorted_short({}, {}, 2);
  compare_sorted_short({1, 0, 1}, {std::numeric_limits<uint32_t>::max(), 7, 0}, 2);
  random_values(0, 60'000, 20'000, 7);
  random_values(-5, 5, 3'000, 1);
  random_values(kMin, kMax, 20'000, 3);
  random_values(1, int64_t{1} << 33, 5'000, 65'536);

  const uint16_t wrong = 3;
  int64_t value = 1;
  uint32_t short_value = 1;
  int64_t counts[3];
  CHECK(wavescope_sort_within_groups(&wrong, &value, 1, 3, &value, counts) == 1);
  CHECK(wavescope_sort_short_within_groups(&wrong, &short_value, 1, 3, &short_value, counts) == 1);
}

void codes_are_counted() {
  const std::vector<int32_t> codes{2, 0, -1, 2, 2, -1, 4};
  Numbers counts(5, 99);
  CHECK(wavescope_count_codes(codes.data(), 7, 5, counts.data()) == 0);
  CHECK((counts == Numbers{1, 0, 3, 0, 1}));
  CHECK(wavescope_count_codes(codes.data(), 6, 5, counts.data()) == 0);
  CHECK((counts == Numbers{1, 0, 3, 0, 0}));
  CHECK(wavescope_count_codes(codes.data(), 0, 0, counts.data()) == 0);
  CHECK(wavescope_count_codes(codes.data(), 7, 4, counts.data()) == 1);
  CHECK(wavescope_count_codes(codes.data(), 2, 2, counts.data()) == 1);
}

void rows_of_a_group_come_together() {
  const Groups groups{1, 0, 1, 2, 0};
  const Numbers wide{10, 20, 30, 40, 50};
  const std::vector<uint8_t> narrow{1, 2, 3, 4, 5};
  Numbers wide_grouped(5);
  std::vector<uint8_t> narrow_grouped(5);
  const std::vector<uint32_t> codes{100, 200, 300, 400, 500};
  std::vector<uint32_t> codes_grouped(5);
  const WavescopeGroupedColumn columns[] = {{wide.data(), wide_grouped.data(), 8},
                                            {narrow.data(), narrow_grouped.data(), 1},
                                            {codes.data(), codes_grouped.data(), 4}};
  const std::vector<int32_t> order{2, 0, 1};
  Numbers counts(3);
  CHECK(wavescope_group_rows(groups.data(), 5, 3, order.data(), columns, 3, counts.data()) == 0);
  CHECK((wide_grouped == Numbers{40, 20, 50, 10, 30}));
  CHECK((narrow_grouped == std::vector<uint8_t>{4, 2, 5, 1, 3}));
  CHECK((codes_grouped == std::vector<uint32_t>{400, 200, 500, 100, 300}));
  CHECK((counts == Numbers{2, 2, 1}));

  for (const auto& wrong : std::vector<std::vector<int32_t>>{{0, 1, 1}, {0, 1, 3}, {-1, 0, 1}}) {
    CHECK(wavescope_group_rows(groups.data(), 5, 3, wrong.data(), columns, 2, counts.data()) == 1);
  }
  CHECK(wavescope_group_rows(groups.data(), 5, 2, order.data() + 1, columns, 2, counts.data()) == 1);
  const WavescopeGroupedColumn odd = {wide.data(), wide_grouped.data(), 2};
  CHECK(wavescope_group_rows(groups.data(), 5, 3, order.data(), &odd, 1, counts.data()) == 1);
}

void distinct_rows_are_numbered_as_they_appear() {
  WavescopeDistinctRows* distinct = wavescope_distinct_rows_open(2);
  std::vector<int32_t> number(5000);
  Numbers first(5000);
  Numbers left(5000);
  Numbers right(5000);
  for (std::size_t row = 0; row < 5000; ++row) {
    left[row] = static_cast<int64_t>(row % 2500);
    right[row] = -left[row];
  }
  const int64_t* columns[] = {left.data(), right.data()};
  CHECK(wavescope_distinct_rows_number(distinct, 5000, columns, number.data(), first.data()) == 2500);
  CHECK(number[2499] == 2499 && number[2500] == 0 && first[2499] == 2499);
  CHECK(wavescope_distinct_rows_number(distinct, 5000, columns, number.data(), first.data()) == 0);
  wavescope_distinct_rows_close(distinct);
}

struct Run {
  Numbers starts;
  Numbers ends;
};

// Where the stretches of some runs begin and end, from sorting all starts and all ends.
Run expected_union(const std::vector<Run>& runs) {
  Run all;
  for (const Run& run : runs) {
    all.starts.insert(all.starts.end(), run.starts.begin(), run.starts.end());
    all.ends.insert(all.ends.end(), run.ends.begin(), run.ends.end());
  }
  std::sort(all.starts.begin(), all.starts.end());
  std::sort(all.ends.begin(), all.ends.end());
  Run found;
  for (std::size_t i = 0; i < all.starts.size(); ++i) {
    if (i == 0 || all.starts[i] > all.ends[i - 1]) found.starts.push_back(all.starts[i]);
    if (i + 1 == all.starts.size() || all.starts[i + 1] > all.ends[i]) found.ends.push_back(all.ends[i]);
  }
  return found;
}

void compare_union(const std::vector<Run>& runs) {
  std::vector<WavescopeIntervalRun> described;
  std::size_t room = 0;
  for (const Run& run : runs) {
    described.push_back({run.starts.data(), run.ends.data(), static_cast<int64_t>(run.starts.size())});
    room += run.starts.size();
  }
  Run found{Numbers(room), Numbers(room)};
  const int64_t count = wavescope_union_of_runs(described.data(), static_cast<int32_t>(described.size()),
                                                found.starts.data(), found.ends.data());
  CHECK(count >= 0);
  found.starts.resize(static_cast<std::size_t>(count));
  found.ends.resize(static_cast<std::size_t>(count));
  const Run expected = expected_union(runs);
  CHECK(found.starts == expected.starts);
  CHECK(found.ends == expected.ends);
}

Run random_run(std::mt19937_64& random, std::size_t count, int64_t longest) {
  std::uniform_int_distribution<int64_t> time(0, 10'000);
  std::uniform_int_distribution<int64_t> length(0, longest);
  Run run;
  for (std::size_t i = 0; i < count; ++i) {
    run.starts.push_back(time(random));
    run.ends.push_back(run.starts.back() + length(random));
  }
  std::sort(run.starts.begin(), run.starts.end());
  std::sort(run.ends.begin(), run.ends.end());
  return run;
}

void runs_are_united() {
  compare_union({});
  compare_union({{{}, {}}, {{}, {}}});
  compare_union({{{5}, {5}}});
  compare_union({{{0, 10}, {10, 20}}, {{20, 30}, {25, 30}}});
  compare_union({{{kMin, kMax}, {kMin, kMax}}, {{0}, {kMax}}});
  compare_union({{{kMin}, {kMax}}, {{kMin, 0}, {0, kMax}}});
  std::mt19937_64 random(3);
  for (const int64_t longest : {0, 3, 50, 4000}) {
    for (std::size_t runs = 1; runs < 7; ++runs) {
      std::vector<Run> made;
      for (std::size_t i = 0; i < runs; ++i) made.push_back(random_run(random, 200 * i + 10, longest));
      compare_union(made);
    }
  }
}

void uncovered_time_is_measured() {
  const Run run{{0, 5, 30, 40}, {10, 20, 30, 50}};
  CHECK(wavescope_uncovered_ns(run.starts.data(), run.ends.data(), 4) == 20);
  CHECK(wavescope_uncovered_ns(run.starts.data(), run.ends.data(), 1) == 0);
  CHECK(wavescope_uncovered_ns(nullptr, nullptr, 0) == 0);
  const Run wide{{kMin, kMax}, {kMin, kMax}};
  CHECK(wavescope_uncovered_ns(wide.starts.data(), wide.ends.data(), 2) == std::numeric_limits<uint64_t>::max());
}

void compare_places(const std::vector<int64_t>& values, const std::vector<int64_t>& times) {
  std::vector<int64_t> places(times.size());
  for (const int is_right : {0, 1}) {
    wavescope_places(values.data(), static_cast<int64_t>(values.size()), times.data(), static_cast<int64_t>(times.size()),
                     is_right, places.data());
    for (std::size_t i = 0; i < times.size(); ++i) {
      const auto expected = is_right != 0 ? std::upper_bound(values.begin(), values.end(), times[i])
                                          : std::lower_bound(values.begin(), values.end(), times[i]);
      CHECK(places[i] == expected - values.begin());
    }
  }
}

void times_find_their_places() {
  compare_places({}, {});
  compare_places({}, {1, -1});
  compare_places({kMin, kMin, 0, kMax, kMax}, {kMax, kMin, 0, kMax, -1, 1, kMin});
  std::mt19937_64 random(7);
  for (const std::size_t count : {1, 2, 7, 100, 5000}) {
    for (const int64_t highest : {3, 200, 1'000'000}) {
      std::uniform_int_distribution<int64_t> any(-highest, highest);
      std::vector<int64_t> values(count), times(300);
      for (int64_t& value : values) value = any(random);
      for (int64_t& time : times) time = any(random) * 2;
      std::sort(values.begin(), values.end());
      compare_places(values, times);
      std::sort(times.begin(), times.end());
      compare_places(values, times);
      std::reverse(times.begin(), times.end());
      compare_places(values, times);
    }
  }
}

void ranges_are_nested() {
  // Lane 1: a stack, two crossing ranges and an instant where one ends; lane 2 sees none of them.
  const std::vector<int64_t> starts{0, 10, 10, 50, 80, 100, 20, kMin, kMax};
  const std::vector<int64_t> ends{100, 40, 20, 90, 120, 100, 30, kMax, kMax};
  const std::vector<int64_t> lanes{1, 1, 1, 1, 1, 1, 2, 3, 3};
  std::vector<int64_t> parents(starts.size());
  std::vector<int64_t> depths(starts.size());
  CHECK(wavescope_nest(starts.data(), ends.data(), lanes.data(), 9, parents.data(), depths.data()) == 0);
  CHECK((parents == std::vector<int64_t>{-1, 0, 1, 0, -1, 4, -1, -1, -1}));
  CHECK((depths == std::vector<int64_t>{0, 1, 2, 1, 0, 1, 0, 0, 0}));
  CHECK(wavescope_nest(nullptr, nullptr, nullptr, 0, nullptr, nullptr) == 0);
}

}  // namespace

int main() {
  values_are_sorted_within_groups();
  codes_are_counted();
  rows_of_a_group_come_together();
  distinct_rows_are_numbered_as_they_appear();
  runs_are_united();
  uncovered_time_is_measured();
  times_find_their_places();
  ranges_are_nested();
  return 0;
}
