// The counters of a wave (vmcnt, lgkmcnt, ...) run over what it executed: which memory operations did each wait wait for?
#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "thread_trace/thread_trace.h"

namespace {

// Operations that count on one counter, oldest first; those before `taken` are finished.
struct Outstanding {
  std::vector<int64_t> events;
  std::size_t taken = 0;
  bool is_ordered = true;

  std::size_t size() const { return events.size() - taken; }
  void clear() {
    events.clear();
    taken = 0;
  }
};

class Counters {
 public:
  Counters(const WavescopeCounterFamily& family, WavescopeDependencies& found) : family_(family), found_(found) {}

  void begin_wave() {
    for (Outstanding& counter : counters_) {
      counter.clear();
      counter.is_ordered = true;
    }
    for (std::vector<int64_t>& group : shared_) group.clear();
  }

  void issue(int64_t event, const WavescopeCounterAction& action) {
    for (int index = 0; index < WAVESCOPE_COUNTERS; ++index) {
      Outstanding& counter = counters_[index];
      if ((action.unorders >> index & 1) != 0) counter.is_ordered = false;
      for (int count = 0; count < action.increments[index]; ++count) counter.events.push_back(event);
    }
    if (action.shared_group >= 0 && action.shared_group < WAVESCOPE_SHARED_GROUPS) {
      shared_[action.shared_group].push_back(event);
    }
  }

  bool wait(int64_t event, const WavescopeCounterAction& action) {
    if (action.drains_all != 0) return drain(event);
    for (const int32_t index : family_.wait_order) {
      if (index < 0 || index >= WAVESCOPE_COUNTERS || (action.waited >> index & 1) == 0) continue;
      if (!take(event, index, action.limits[index])) return false;
    }
    return true;
  }

 private:
  bool take(int64_t event, int32_t index, int32_t limit) {
    Outstanding& counter = counters_[index];
    if (limit <= 0) counter.is_ordered = true;
    if (!counter.is_ordered) return true;
    const int64_t before = found_.producer_count;
    for (int group = 0; group < WAVESCOPE_SHARED_GROUPS; ++group) {
      if ((family_.shared_of[index] >> group & 1) == 0) continue;
      if (!append(shared_[group], 0, shared_[group].size())) return false;
      shared_[group].clear();
    }
    const std::size_t left = limit <= 0 ? 0 : static_cast<std::size_t>(limit);
    const std::size_t finished = counter.size() > left ? counter.size() - left : 0;
    if (!append(counter.events, counter.taken, finished)) return false;
    counter.taken += finished;
    if (counter.taken == counter.events.size()) counter.clear();
    return close_list(event, static_cast<uint8_t>(index), before);
  }

  bool drain(int64_t event) {
    const int64_t before = found_.producer_count;
    for (const int32_t index : family_.wait_order) {
      if (index < 0 || index >= WAVESCOPE_COUNTERS) continue;
      Outstanding& counter = counters_[index];
      if (!append(counter.events, counter.taken, counter.size())) return false;
      counter.clear();
      counter.is_ordered = true;
    }
    return close_list(event, WAVESCOPE_COUNTERS, before);
  }

  bool append(const std::vector<int64_t>& events, std::size_t first, std::size_t count) {
    if (found_.producer_count + static_cast<int64_t>(count) > found_.producer_capacity) return false;
    std::copy_n(events.begin() + static_cast<std::ptrdiff_t>(first), count, found_.producer_event + found_.producer_count);
    found_.producer_count += static_cast<int64_t>(count);
    return true;
  }

  bool close_list(int64_t event, uint8_t counter, int64_t before) {
    if (found_.producer_count == before) return true;
    if (found_.list_count >= found_.list_capacity) return false;
    found_.wait_event[found_.list_count] = event;
    found_.counter[found_.list_count] = counter;
    found_.producer_end[found_.list_count] = found_.producer_count;
    ++found_.list_count;
    return true;
  }

  const WavescopeCounterFamily& family_;
  WavescopeDependencies& found_;
  Outstanding counters_[WAVESCOPE_COUNTERS];
  std::vector<int64_t> shared_[WAVESCOPE_SHARED_GROUPS];
};

}  // namespace

int wavescope_wait_dependencies(const int32_t* row, const int64_t* offsets, int64_t wave_count, const int32_t* action_of_row,
                                int64_t row_count, const WavescopeCounterAction* actions, int64_t action_count,
                                const WavescopeCounterFamily* family, WavescopeDependencies* dependencies) {
  try {
    Counters counters(*family, *dependencies);
    for (int64_t wave = 0; wave < wave_count; ++wave) {
      counters.begin_wave();
      for (int64_t event = offsets[wave]; event < offsets[wave + 1]; ++event) {
        if (row[event] < 0 || row[event] >= row_count) continue;
        const int32_t number = action_of_row[row[event]];
        if (number < 0) continue;
        if (number >= action_count) return 1;
        const WavescopeCounterAction& action = actions[number];
        if (action.is_wait == 0) {
          counters.issue(event, action);
        } else if (!counters.wait(event, action)) {
          return 1;
        }
      }
    }
  } catch (const std::bad_alloc&) {
    return 1;
  }
  return 0;
}
