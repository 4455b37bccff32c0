// Notes on launches: found by their correlation id until a million further ones, never mixed up, forgotten with an epoch.
#include <atomic>
#include <thread>
#include <vector>

#include "check.h"
#include "collector_cupti/launch_notes.h"

namespace {

using wavescope::cupti::LaunchNote;
using wavescope::cupti::LaunchNotes;
using wavescope::cupti::Skipping;

bool is_empty(const LaunchNote& note) { return note.thread == 0 && note.marker == 0 && !note.skipped; }
bool is_forgotten(const LaunchNote& note) { return is_empty(note) && !note.counted_by_records; }
bool was_never(const LaunchNote& note) { return is_empty(note) && note.counted_by_records; }

void notes_are_found_whole() {
  LaunchNotes notes;
  CHECK(was_never(notes.find(0)) && was_never(notes.find(1)) && was_never(notes.find(UINT32_MAX)));
  notes.put(7, {4194303, UINT32_MAX, Skipping(WAVESCOPE_SKIP_OUTSIDE_SLICES), false});
  notes.put(8, {12, 0, {}, true});
  notes.put(UINT32_MAX, {13, 3, Skipping(WAVESCOPE_SKIP_APP_SIGNAL), true});
  const LaunchNote first = notes.find(7), second = notes.find(8), last = notes.find(UINT32_MAX);
  CHECK(first.thread == 4194303 && first.marker == UINT32_MAX && !first.counted_by_records);
  CHECK(first.skipped && first.skipped.reason() == WAVESCOPE_SKIP_OUTSIDE_SLICES);
  CHECK(second.thread == 12 && second.marker == 0 && !second.skipped && second.counted_by_records);
  CHECK(last.thread == 13 && last.skipped.reason() == WAVESCOPE_SKIP_APP_SIGNAL && last.counted_by_records);
  notes.put(7, {5, 6});
  CHECK(notes.find(7).thread == 5 && notes.find(7).marker == 6 && !notes.find(7).skipped);
}

void what_is_a_million_ids_old_is_forgotten() {
  LaunchNotes notes;
  constexpr uint32_t kOld = 5, kNew = kOld + LaunchNotes::kPlaces;
  notes.put(kOld, {1, 10});
  CHECK(was_never(notes.find(kNew)));
  notes.put(kNew, {2, 20});
  CHECK(is_forgotten(notes.find(kOld)));
  CHECK(notes.find(kNew).thread == 2 && notes.find(kNew).marker == 20);
  constexpr uint32_t kAtTheEnd =
      UINT32_MAX - (static_cast<uint32_t>(LaunchNotes::kPlaces) - 1) + kOld;  // ids begin again after the last
  CHECK(is_forgotten(notes.find(kAtTheEnd)));
}

// Five kernels, of which two are recorded before their launch is over, and more records than there are kernels.
void kernels_are_counted_one_way() {
  LaunchNotes notes;
  constexpr uint32_t kId = 9 + 3 * LaunchNotes::kPlaces;
  notes.put(kId, {21, 4, Skipping(WAVESCOPE_SKIP_PAUSED)});
  CHECK(!notes.count_kernel(kId) && !notes.count_kernel(kId));
  CHECK(notes.skip(kId, Skipping(WAVESCOPE_SKIP_OUTSIDE_SLICES), 5) == 2);
  CHECK(!notes.count_kernel(9) && notes.skip(9, Skipping(WAVESCOPE_SKIP_PAUSED), 1) == 0);  // the place is another's
  for (int record = 0; record < 3; ++record) {
    CHECK(notes.count_kernel(kId).reason() == WAVESCOPE_SKIP_OUTSIDE_SLICES);
  }
  CHECK(!notes.count_kernel(kId) && !notes.count_kernel(kId));
  const LaunchNote note = notes.find(kId);
  CHECK(note.thread == 21 && note.marker == 4 && note.skipped.reason() == WAVESCOPE_SKIP_OUTSIDE_SLICES);
}

void more_records_than_kernels_are_not_taken_back() {
  LaunchNotes notes;
  notes.put(1, {});
  for (int record = 0; record < 3; ++record) CHECK(!notes.count_kernel(1));
  CHECK(notes.skip(1, Skipping(WAVESCOPE_SKIP_PAUSED), 2) == 2);
  CHECK(!notes.count_kernel(1));
}

void epochs_are_kept_apart() {
  LaunchNotes notes;
  notes.put(3, {1, 10});
  CHECK(notes.whole(3) == 3);
  notes.begin_epoch();
  CHECK(was_never(notes.find(3)));
  CHECK(notes.whole(3) == (uint64_t{1} << 32 | 3));
  notes.put(3, {2, 20});
  CHECK(notes.find(3).thread == 2);
  notes.begin_epoch();
  CHECK(notes.whole(UINT32_MAX) == (uint64_t{2} << 32 | UINT32_MAX));
}

// Two threads write to the same places under different ids, a third reads: what it finds is all of one note or nothing.
void places_are_never_torn() {
  constexpr uint32_t kRounds = 300000, kIds = 2;
  LaunchNotes notes;
  std::atomic<bool> done{false};
  std::vector<std::thread> writers;
  for (uint32_t number = 0; number < 2; ++number) {
    writers.emplace_back([&notes, number] {
      for (uint32_t round = 0; round < kRounds; ++round) {
        const uint32_t correlation = 1 + round % kIds + number * static_cast<uint32_t>(LaunchNotes::kPlaces);
        notes.put(correlation, {1000 + number, 2000 + correlation});
      }
    });
  }
  std::thread reader([&] {
    do {
      for (uint32_t id = 1; id <= kIds; ++id) {
        for (uint32_t number = 0; number < 2; ++number) {
          const uint32_t correlation = id + number * static_cast<uint32_t>(LaunchNotes::kPlaces);
          const LaunchNote note = notes.find(correlation);
          CHECK(is_empty(note) || (note.thread == 1000 + number && note.marker == 2000 + correlation));
        }
      }
    } while (!done);
  });
  for (std::thread& writer : writers) writer.join();
  done = true;
  reader.join();
  for (uint32_t id = 1; id <= kIds; ++id) {
    const uint32_t other = id + static_cast<uint32_t>(LaunchNotes::kPlaces);
    CHECK(is_empty(notes.find(id)) != is_empty(notes.find(other)) ||
          (is_empty(notes.find(id)) && is_empty(notes.find(other))));
  }
}

}  // namespace

int main() {
  notes_are_found_whole();
  what_is_a_million_ids_old_is_forgotten();
  kernels_are_counted_one_way();
  more_records_than_kernels_are_not_taken_back();
  epochs_are_kept_apart();
  places_are_never_torn();
  return 0;
}
