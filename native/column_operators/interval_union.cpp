// The union of several runs of intervals, without merging them: runs take turns at making the current stretch longer.
#include <algorithm>
#include <cstddef>
#include <new>
#include <vector>

#include "column_operators/column_operators.h"

namespace {

struct Cursor {
  const int64_t* start;
  const int64_t* end;
  const int64_t* stop;  // of the starts

  bool is_done() const { return start == stop; }

  // Takes the next interval if it begins no later than `until`, which grows with its end; returns 1 if it did, else 0.
  // Which of the two is hard to foresee, hence no branches: at its end a run looks once more at its last interval.
  std::ptrdiff_t take(int64_t& until) {
    const std::ptrdiff_t back = is_done() ? 1 : 0;
    const std::ptrdiff_t taken = static_cast<std::ptrdiff_t>(*(start - back) <= until) & (1 - back);
    const int64_t reached = std::max(until, *(end - back));
    until = taken != 0 ? reached : until;
    start += taken;
    end += taken;
    return taken;
  }
};

// The run whose next interval begins first, nullptr when there is none.
const Cursor* earliest(const std::vector<Cursor>& cursors) {
  const Cursor* found = nullptr;
  for (const Cursor& cursor : cursors) {
    if (!cursor.is_done() && (found == nullptr || *cursor.start < *found->start)) found = &cursor;
  }
  return found;
}

}  // namespace

int64_t wavescope_union_of_runs(const WavescopeIntervalRun* runs, int32_t run_count, int64_t* firsts, int64_t* lasts) {
  try {
    std::vector<Cursor> cursors;
    for (int32_t index = 0; index < run_count; ++index) {
      const WavescopeIntervalRun& run = runs[index];
      if (run.count > 0) cursors.push_back({run.starts, run.ends, run.starts + run.count});
    }
    int64_t stretches = 0;
    while (const Cursor* next = earliest(cursors)) {
      const int64_t first = *next->start;
      int64_t last = first;
      std::ptrdiff_t taken = 1;
      while (taken != 0) {
        taken = 0;
        for (Cursor& cursor : cursors) taken += cursor.take(last);
      }
      firsts[stretches] = first;
      lasts[stretches] = last;
      ++stretches;
    }
    return stretches;
  } catch (const std::bad_alloc&) {
    return -1;
  }
}

uint64_t wavescope_uncovered_ns(const int64_t* starts, const int64_t* ends, int64_t count) {
  uint64_t uncovered = 0;
  for (int64_t index = 1; index < count; ++index) {
    const int64_t resumes_at = std::max(starts[index], ends[index - 1]);
    uncovered += static_cast<uint64_t>(resumes_at) - static_cast<uint64_t>(ends[index - 1]);
  }
  return uncovered;
}
