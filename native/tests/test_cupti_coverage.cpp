// Kernels per GPU: records in the counters stream, additions of many threads, what is missing and what becomes of it.
#include <thread>
#include <vector>

#include "check.h"
#include "collector_cupti/coverage.h"
#include "recorded_session.h"

namespace {

using wavescope::Session;
using wavescope::cupti::Coverage;

WavescopeCounterRecord counters_of(const RecordedSession& recorded, uint16_t gpu) {
  WavescopeCounterRecord found{};
  int matches = 0;
  for (const auto& record : recorded.records<WavescopeCounterRecord>("counters")) {
    CHECK(record.kind == 1 && record.queue == WAVESCOPE_ALL_QUEUES && record.packets == 0);
    if (record.gpu != gpu) continue;
    found = record;
    ++matches;
  }
  CHECK(matches == 1);
  return found;
}

void every_sum_has_its_place(const RecordedSession& recorded, Coverage& coverage) {
  CHECK(coverage.missing() == 0);
  coverage.add_seen(2, 100);
  coverage.add_timed(2, 60);
  coverage.add_skipped(2, WAVESCOPE_SKIP_OUTSIDE_SLICES, 20);
  coverage.add_lost(2, WAVESCOPE_LOSS_TIMESTAMPS, 3);
  CHECK(coverage.missing() == 17);
  coverage.add_timed_of_skipped(2, WAVESCOPE_SKIP_OUTSIDE_SLICES, 5);
  CHECK(coverage.missing() == 17);
  const WavescopeCounterRecord record = counters_of(recorded, 2);
  CHECK(record.seen == 100 && record.timed == 65 && record.skipped[WAVESCOPE_SKIP_OUTSIDE_SLICES] == 15);
  CHECK(record.lost[WAVESCOPE_LOSS_TIMESTAMPS] == 3 && record.lost[WAVESCOPE_LOSS_PENDING_AT_EXIT] == 0);
}

void what_is_missing_is_settled_once(const RecordedSession& recorded, Coverage& coverage) {
  coverage.settle(WAVESCOPE_LOSS_PENDING_AT_EXIT);
  CHECK(coverage.missing() == 0);
  coverage.settle(WAVESCOPE_LOSS_PENDING_AT_EXIT);
  CHECK(counters_of(recorded, 2).lost[WAVESCOPE_LOSS_PENDING_AT_EXIT] == 17);
}

// A graph was launched on GPU 2 and counted there; 4 of its 10 kernels ran on GPU 0, and 1 is missing.
void gpus_make_up_for_one_another(const RecordedSession& recorded, Coverage& coverage) {
  coverage.add_seen(2, 10);
  coverage.add_timed(2, 5);
  coverage.add_timed(0, 4);
  CHECK(coverage.missing() == 1);
  coverage.settle(WAVESCOPE_LOSS_BUFFER_FULL);
  CHECK(counters_of(recorded, 2).lost[WAVESCOPE_LOSS_BUFFER_FULL] == 1);
  CHECK(counters_of(recorded, 0).lost[WAVESCOPE_LOSS_BUFFER_FULL] == 0 && counters_of(recorded, 0).seen == 0);
  coverage.add_timed(0, 7);  // more than was seen: nothing is missing
  CHECK(coverage.missing() == 0);
}

// As when a graph that was counted on GPU 6 had kernels on GPU 7, and records came of more kernels than it has.
void skipped_is_never_less_than_nothing(const RecordedSession& recorded, Coverage& coverage) {
  coverage.add_seen(6, 5);
  coverage.add_skipped(6, WAVESCOPE_SKIP_GRAPH_BATCH, 5);
  coverage.add_seen(7, 2);
  coverage.add_skipped(7, WAVESCOPE_SKIP_GRAPH_BATCH, 1);
  coverage.add_skipped(7, WAVESCOPE_SKIP_PAUSED, 1);
  coverage.add_timed_of_skipped(7, WAVESCOPE_SKIP_GRAPH_BATCH, 4);
  CHECK(counters_of(recorded, 7).skipped[WAVESCOPE_SKIP_GRAPH_BATCH] == 0 && counters_of(recorded, 7).timed == 4);
  CHECK(counters_of(recorded, 6).skipped[WAVESCOPE_SKIP_GRAPH_BATCH] == 2 && counters_of(recorded, 6).timed == 0);
  coverage.take_skipped(6, WAVESCOPE_SKIP_GRAPH_BATCH, 3);
  CHECK(counters_of(recorded, 6).skipped[WAVESCOPE_SKIP_GRAPH_BATCH] == 0);
  CHECK(counters_of(recorded, 7).skipped[WAVESCOPE_SKIP_PAUSED] == 1);
}

// GPU 6 has more than was seen on it, and GPU 5 less.
void at_the_end_everything_was_seen(const RecordedSession& recorded, Coverage& coverage) {
  coverage.close(WAVESCOPE_LOSS_PENDING_AT_EXIT);
  const uint64_t seen = coverage.seen();
  coverage.add_seen(5, 2);
  coverage.add_timed(6, 9);
  coverage.close(WAVESCOPE_LOSS_PENDING_AT_EXIT);
  coverage.close(WAVESCOPE_LOSS_PENDING_AT_EXIT);
  CHECK(coverage.seen() == seen + 9);
  coverage.add_seen(5, 3);
  coverage.close(WAVESCOPE_LOSS_BUFFER_FULL);
  CHECK(coverage.seen() == seen + 12 && coverage.lost(WAVESCOPE_LOSS_BUFFER_FULL) == 1 + 3);
  uint64_t known = 0;
  for (const auto& record : recorded.records<WavescopeCounterRecord>("counters")) {
    known += record.timed;
    for (const uint64_t skipped : record.skipped) known += skipped;
    for (const uint64_t lost : record.lost) known += lost;
  }
  CHECK(known == coverage.seen());
}

void threads_add_at_once(const RecordedSession& recorded, Coverage& coverage) {
  constexpr uint32_t kThreads = 4, kAdditions = 5000;
  std::vector<std::thread> threads;
  for (uint32_t number = 0; number < kThreads; ++number) {
    threads.emplace_back([&coverage] {
      for (uint32_t i = 0; i < kAdditions; ++i) {
        coverage.add_seen(5, 2);
        coverage.add_timed(5, 1);
        coverage.add_skipped(5, WAVESCOPE_SKIP_PAUSED, 1);
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const WavescopeCounterRecord record = counters_of(recorded, 5);
  CHECK(record.seen == 2 * kThreads * kAdditions && record.timed == kThreads * kAdditions);
  CHECK(record.skipped[WAVESCOPE_SKIP_PAUSED] == kThreads * kAdditions);
}

void gpus_beyond_the_last_count_as_it(const RecordedSession& recorded, Coverage& coverage) {
  coverage.add_seen(Coverage::kMostGpus - 1, 1);
  coverage.add_seen(100000, 2);
  CHECK(counters_of(recorded, Coverage::kMostGpus - 1).seen == 3);
}

}  // namespace

int main() {
  const RecordedSession recorded("standard");
  Session* session = Session::current();
  CHECK(session != nullptr);
  Coverage coverage(*session);
  every_sum_has_its_place(recorded, coverage);
  what_is_missing_is_settled_once(recorded, coverage);
  gpus_make_up_for_one_another(recorded, coverage);
  threads_add_at_once(recorded, coverage);
  gpus_beyond_the_last_count_as_it(recorded, coverage);
  skipped_is_never_less_than_nothing(recorded, coverage);
  at_the_end_everything_was_seen(recorded, coverage);
  return 0;
}
