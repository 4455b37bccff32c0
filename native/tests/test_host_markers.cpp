// Markers from many threads at once, ranges stopped elsewhere, forks, and stacks deeper than what is kept.
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "collector_roctx/markers.h"
#include "collector_roctx/range_stack.h"
#include "core/session.h"
#include "recorded_session.h"

extern "C" {
int roctxRangePushA(const char* text);
int roctxRangePop();
void roctxMarkA(const char* text);
uint64_t roctxRangeStartA(const char* text);
void roctxRangeStop(uint64_t id);
}

namespace {

using wavescope::current_marker;
using wavescope::roctx::OpenRange;
using wavescope::roctx::RangeStack;

void deep_stacks_keep_their_levels() {
  static RangeStack stack;
  constexpr uint32_t kExtra = 10;
  for (uint32_t level = 0; level < RangeStack::kMostKept + kExtra; ++level) stack.push(OpenRange{nullptr, level + 1, 0});
  CHECK(stack.depth() == RangeStack::kMostKept + kExtra);
  CHECK(stack.innermost() == RangeStack::kMostKept);
  for (uint32_t extra = 0; extra < kExtra; ++extra) CHECK(stack.pop(0).marker == 0);
  CHECK(stack.pop(0).marker == RangeStack::kMostKept);
  CHECK(stack.innermost() == RangeStack::kMostKept - 1);
  stack.abandon(0);
  CHECK(stack.depth() == 0 && stack.pop(0).record == nullptr && stack.innermost() == 0);
}

void ranges_name_what_is_around_them() {
  CHECK(roctxRangePop() == -1);
  CHECK(roctxRangePushA("outer") == 0);
  const uint32_t outer = current_marker();
  CHECK(roctxRangePushA(nullptr) == 1);
  CHECK(current_marker() == outer + 1);
  roctxMarkA("mark");
  CHECK(roctxRangePop() == 1);
  CHECK(current_marker() == outer);
  CHECK(roctxRangePop() == 0);
  CHECK(current_marker() == 0);
}

void threads_record_at_once(const RecordedSession& session) {
  constexpr int kThreads = 4, kRanges = 5000;
  const std::size_t before = session.records<WavescopeMarkerRecord>("markers").size();
  std::vector<std::atomic<uint64_t>> started(kThreads * kRanges);
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([&started, number] {
      for (int i = 0; i < kRanges; ++i) {
        CHECK(roctxRangePushA("step") == 0);
        started[static_cast<std::size_t>(number * kRanges + i)] = roctxRangeStartA("started");
        // Stops what the next thread has started, if it has.
        const auto other = static_cast<std::size_t>((number + 1) % kThreads * kRanges + i);
        if (const uint64_t id = started[other].exchange(0)) roctxRangeStop(id);
        CHECK(roctxRangePop() == 0);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (std::atomic<uint64_t>& id : started) {
    if (id != 0) roctxRangeStop(id);
  }
  const auto records = session.records<WavescopeMarkerRecord>("markers");
  CHECK(records.size() - before == 2u * kThreads * kRanges);
  std::set<uint32_t> ids;
  for (const WavescopeMarkerRecord& record : records) {
    CHECK(record.kind == WAVESCOPE_MARKER_RANGE || record.kind == WAVESCOPE_MARKER_MARK);
    CHECK(record.end >= record.start);
    CHECK(ids.insert(record.id).second);
  }
}

void children_leave_their_parent_alone(const RecordedSession& session) {
  roctxRangePushA("parent");
  const uint64_t started = roctxRangeStartA("parent's");
  const pid_t child = fork();
  if (child == 0) {
    roctxRangeStop(started);
    const bool right = roctxRangePop() == 0 && roctxRangePop() == -1 && roctxRangePushA("child") == 0;
    _exit(right ? 0 : 1);
  }
  int status = 0;
  CHECK(waitpid(child, &status, 0) == child && status == 0);
  const auto own = session.records<WavescopeMarkerRecord>("markers", child);
  CHECK(own.size() == 1 && own[0].kind == WAVESCOPE_MARKER_OPEN && own[0].id == 1 && own[0].parent == 0);
  CHECK(session.texts(child).at(own[0].text) == "child");
  std::size_t open = 0;
  for (const auto& record : session.records<WavescopeMarkerRecord>("markers")) open += record.kind == WAVESCOPE_MARKER_OPEN;
  CHECK(open == 2);
  CHECK(roctxRangePop() == 0);
  roctxRangeStop(started);
}

}  // namespace

int main() {
  const RecordedSession session("standard");
  deep_stacks_keep_their_levels();
  ranges_name_what_is_around_them();
  threads_record_at_once(session);
  children_leave_their_parent_alone(session);
  for (const auto& record : session.records<WavescopeMarkerRecord>("markers")) CHECK(record.kind != WAVESCOPE_MARKER_OPEN);
  return 0;
}
