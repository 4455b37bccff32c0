// Values sorted within groups equal what a comparison sort gives, for narrow and for wide values.
#include "group_sort/group_sort.h"

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "check.h"

namespace {

void compare(const std::vector<uint16_t>& groups, const std::vector<int64_t>& values, int32_t group_count) {
  std::vector<int64_t> sorted(values.size());
  std::vector<int64_t> counts(static_cast<std::size_t>(group_count));
  CHECK(wavescope_sort_within_groups(groups.data(), values.data(), static_cast<int64_t>(values.size()), group_count,
                                     sorted.data(), counts.data()) == 0);
  std::vector<int64_t> expected;
  for (int32_t group = 0; group < group_count; ++group) {
    std::vector<int64_t> members;
    for (std::size_t i = 0; i < values.size(); ++i) {
      if (groups[i] == group) members.push_back(values[i]);
    }
    std::sort(members.begin(), members.end());
    CHECK(counts[static_cast<std::size_t>(group)] == static_cast<int64_t>(members.size()));
    expected.insert(expected.end(), members.begin(), members.end());
  }
  CHECK(sorted == expected);
}

void random_values(int64_t lowest, int64_t highest, std::size_t count, int32_t group_count) {
  std::mt19937_64 random(count);
  std::uniform_int_distribution<int64_t> value(lowest, highest);
  std::uniform_int_distribution<int> group(0, group_count - 1);
  std::vector<uint16_t> groups(count);
  std::vector<int64_t> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    groups[i] = static_cast<uint16_t>(group(random));
    values[i] = value(random);
  }
  compare(groups, values, group_count);
}

}  // namespace

int main() {
  compare({}, {}, 0);
  compare({}, {}, 3);
  compare({0, 0, 2}, {5, 5, 5}, 4);
  constexpr int64_t kMin = std::numeric_limits<int64_t>::min();
  constexpr int64_t kMax = std::numeric_limits<int64_t>::max();
  compare({1, 0, 1, 0}, {kMax, kMin, kMin, kMax}, 2);
  random_values(0, 60'000, 20'000, 7);
  random_values(-5, 5, 3'000, 1);
  random_values(kMin, kMax, 20'000, 3);
  random_values(1, int64_t{1} << 33, 5'000, 65'536);

  const uint16_t wrong = 3;
  int64_t value = 1;
  int64_t counts[3];
  CHECK(wavescope_sort_within_groups(&wrong, &value, 1, 3, &value, counts) == 1);
  return 0;
}
