// The ranges of a lane that are drawn one by one.
#include "lane_pixels/lane_pixels.h"
#include "lane_pixels/lane_view.h"

namespace {

using wavescope::LaneView;

template <typename Length>
int64_t wide_ranges(const LaneView<Length>& lane, const uint64_t* longest, int64_t from, int64_t to, uint64_t shortest,
                    int64_t room, int64_t* places) {
  const int64_t stop = lane.starting_before(to);
  int64_t stored = 0;
  int64_t place = lane.first_ending_after(from);
  while (place < stop) {
    const int64_t block = place / WAVESCOPE_LANE_BLOCK;
    const int64_t block_stop = std::min(stop, (block + 1) * WAVESCOPE_LANE_BLOCK);
    if (longest[block] >= shortest) {
      for (; place < block_stop; ++place) {
        if (lane.length(place) < shortest) continue;
        if (stored == room) return stored;
        places[stored++] = place;
      }
    }
    place = block_stop;
  }
  return stored;
}

// The first range without length from `place` on, `stop` when there is none before it.
template <typename Length>
int64_t next_instant(const LaneView<Length>& lane, const uint8_t* has_instant, int64_t place, int64_t stop) {
  while (place < stop) {
    const int64_t block = place / WAVESCOPE_LANE_BLOCK;
    const int64_t block_stop = std::min(stop, (block + 1) * WAVESCOPE_LANE_BLOCK);
    if (has_instant[block] != 0) {
      while (place < block_stop && lane.length(place) != 0) ++place;
      if (place < block_stop) return place;
    }
    place = block_stop;
  }
  return stop;
}

}  // namespace

int64_t wavescope_wide_ranges(const WavescopeLane* lane, const uint64_t* longest, int64_t from, int64_t to,
                              uint64_t shortest, int64_t room, int64_t* places) {
  if (!wavescope::is_usable(*lane) || shortest < 1) return -1;
  return wavescope::with_view(
      *lane, [&](const auto& view) { return wide_ranges(view, longest, from, to, shortest, room, places); });
}

int64_t wavescope_first_instants(const WavescopeLane* lane, const uint8_t* has_instant, const int64_t* edges,
                                 int64_t pixel_count, int64_t* places) {
  if (!wavescope::is_usable(*lane)) return -1;
  return wavescope::with_view(*lane, [&](const auto& view) {
    int64_t stored = 0;
    int64_t pixel = 0;
    const int64_t stop = view.starting_before(edges[pixel_count]);
    int64_t place = view.starting_before(edges[0]);
    while ((place = next_instant(view, has_instant, place, stop)) < stop) {
      while (edges[pixel + 1] <= view.start(place)) ++pixel;
      places[stored++] = place;
      place = view.starting_before(edges[pixel + 1]);
    }
    return stored;
  });
}
