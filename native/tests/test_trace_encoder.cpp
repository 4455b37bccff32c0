// The trace encoder: lanes, time bins, Perfetto packets and Chrome text, and packets read back.
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "check.h"
#include "trace_encoder/trace_encoder.h"

namespace {

using Numbers = std::vector<std::int64_t>;
using Bytes = std::vector<std::uint8_t>;

Bytes bytes_of(const std::string& text) { return {text.begin(), text.end()}; }

std::vector<std::int32_t> lanes_of(bool nested, const Numbers& starts, const Numbers& ends) {
  WavescopeLanes* lanes = wavescope_lanes_open(nested ? 1 : 0);
  const std::vector<std::int32_t> track(starts.size(), 3);
  std::vector<std::int32_t> lane(starts.size(), -1);
  CHECK(wavescope_lanes_assign(lanes, static_cast<std::int64_t>(starts.size()), track.data(), starts.data(), ends.data(),
                               lane.data()) == 0);
  wavescope_lanes_close(lanes);
  return lane;
}

void flat_lanes_hold_one_slice_at_a_time() {
  CHECK((lanes_of(false, {0, 5, 10, 10, 12}, {10, 8, 10, 20, 13}) == std::vector<std::int32_t>{0, 1, 0, 0, 1}));
}

void nested_lanes_hold_slices_inside_slices() {
  CHECK((lanes_of(true, {0, 0, 2, 8, 10}, {10, 5, 4, 12, 11}) == std::vector<std::int32_t>{0, 0, 0, 1, 0}));
}

void many_crossing_slices_stay_cheap() {
  Numbers starts;
  Numbers ends;
  for (std::int64_t row = 0; row < 20000; ++row) {
    starts.push_back(row);
    ends.push_back(row + 1000000);
  }
  const std::vector<std::int32_t> lane = lanes_of(true, starts, ends);
  for (std::size_t row = 0; row < lane.size(); ++row) {
    CHECK(lane[row] == static_cast<std::int32_t>(row));
  }
}

void negative_tracks_are_refused() {
  WavescopeLanes* lanes = wavescope_lanes_open(0);
  const std::int32_t track = -1;
  const std::int64_t time = 0;
  std::int32_t lane = 0;
  CHECK(wavescope_lanes_assign(lanes, 1, &track, &time, &time, &lane) == -1);
  wavescope_lanes_close(lanes);
}

void steps_fill_their_bins() {
  const std::vector<std::int32_t> series{0, 0, 7, -1, 0};
  const Numbers times{105, 118, 110, 110, 90};
  const Numbers steps{1, -1, 1, 1, 1};
  Numbers height(2, 0);
  Numbers area(2, 0);
  wavescope_bins_add(5, series.data(), times.data(), steps.data(), 100, 4, 1, 2, height.data(), area.data());
  CHECK((height == Numbers{1, -1}));
  CHECK((area == Numbers{11, -14}));
}

// A batch of two slices: the first with a flow, a number, a size and a text.
struct Batch {
  Numbers start{5, 300};
  Numbers end{300, 300};
  Numbers track{1, 200};
  Numbers process{7, 8};
  std::vector<std::int32_t> body{0, 0};
  Bytes bodies;
  Numbers body_offsets;
  std::vector<std::uint8_t> instant{0, 1};
  Numbers flow_offsets{0, 1, 1};
  Numbers flow_ids{9};
  Numbers values{-5, -1};
  const std::int64_t* columns[1] = {values.data()};
  Numbers x{-120, -1};
  Numbers y{-1, -1};
  Numbers z{0, -1};
  const std::int64_t* axes[3] = {x.data(), y.data(), z.data()};
  Bytes labels;
  Numbers label_offsets;
  Bytes text = bytes_of("a\n<b>");
  Numbers text_offsets{0, 5, 5};
  WavescopeSlices slices{};

  // All labels are as long as that of the number.
  Batch(const std::string& body_text, const std::string& number_label, const std::string& other_labels)
      : bodies(bytes_of(body_text)),
        body_offsets{0, static_cast<std::int64_t>(bodies.size())},
        labels(bytes_of(number_label + other_labels)) {
    for (std::size_t label = 0; label < 4; ++label) {
      label_offsets.push_back(static_cast<std::int64_t>(label * number_label.size()));
    }
    slices.rows = 2;
    slices.start_ns = start.data();
    slices.end_ns = end.data();
    slices.base_ns = 4;
    slices.track = track.data();
    slices.process = process.data();
    slices.body = body.data();
    slices.bodies = bodies.data();
    slices.body_offsets = body_offsets.data();
    slices.instant = instant.data();
    slices.flow_offsets = flow_offsets.data();
    slices.flow_ids = flow_ids.data();
    slices.integer_count = 1;
    slices.integers = columns;
    slices.size_count = 1;
    slices.sizes = axes;
    slices.labels = labels.data();
    slices.label_offsets = label_offsets.data();
    slices.text = text.data();
    slices.text_offsets = text_offsets.data();
  }
};

using Encoder = std::int64_t (*)(const WavescopeSlices*, std::int64_t*, std::uint8_t*, std::int64_t);

// Encodes with a buffer that starts at `capacity` bytes and grows when a row does not fit.
std::string encoded(Encoder encoder, const WavescopeSlices& slices, std::size_t capacity) {
  std::string result;
  Bytes buffer(capacity);
  std::int64_t row = 0;
  while (row < slices.rows) {
    const std::int64_t written = encoder(&slices, &row, buffer.data(), static_cast<std::int64_t>(buffer.size()));
    if (written < 0) {
      CHECK(static_cast<std::size_t>(-written) > buffer.size());
      buffer.resize(static_cast<std::size_t>(-written));
    } else {
      result.append(buffer.begin(), buffer.begin() + written);
    }
  }
  return result;
}

void chrome_text_is_exact() {
  Batch batch("\"ph\":\"X\",\"name\":\"n\",\"args\":{", "\"k\":", "\"s\":\"t\":");
  const std::string expected =
      ",\n{\"pid\":7,\"tid\":1,\"ts\":0.001,\"dur\":0.295,\"ph\":\"X\",\"name\":\"n\",\"args\":{\"k\":-5,\"s\":\"-120,-1,"
      "0\",\"t\":\"a\\n\\u003cb>\"}}"
      ",\n{\"pid\":7,\"tid\":1,\"ts\":0.001,\"ph\":\"s\",\"name\":\"launch\",\"cat\":\"ac2g\",\"id\":9}"
      ",\n{\"pid\":8,\"tid\":200,\"ts\":0.296,\"ph\":\"X\",\"name\":\"n\",\"args\":{}}";
  CHECK(encoded(wavescope_chrome_slices, batch.slices, 4096) == expected);
  CHECK(encoded(wavescope_chrome_slices, batch.slices, 1) == expected);
}

struct ReadEvents {
  explicit ReadEvents(std::size_t capacity) : columns(16, Numbers(capacity)) {
    const auto size = static_cast<std::int64_t>(capacity);
    std::size_t next = 0;
    const auto column = [&] { return columns[next++].data(); };
    events.capacity = events.flow_capacity = events.argument_capacity = size;
    events.timestamp = column();
    events.track = column();
    events.sequence = column();
    events.type = column();
    events.name = column();
    events.name_offset = column();
    events.name_size = column();
    events.category = column();
    events.second_category = column();
    events.flow_row = column();
    events.flow_id = column();
    events.argument_row = column();
    events.argument_name = column();
    events.argument_kind = column();
    events.argument_value = column();
    events.argument_size = column();
  }

  int read(const Bytes& data, std::int64_t* position) {
    return wavescope_perfetto_events(data.data(), static_cast<std::int64_t>(data.size()), position, &events);
  }

  std::vector<Numbers> columns;
  WavescopeTrackEvents events{};
};

// type SLICE_BEGIN, category 3, name 2; labels are name_iid 1, 6 and 4.
Batch perfetto_batch() { return {"\x48\x01\x18\x03\x50\x02", "\x08\x01", "\x08\x06\x08\x04"}; }

void packets_are_read_back() {
  Batch batch = perfetto_batch();
  const Bytes data = bytes_of(encoded(wavescope_perfetto_slices, batch.slices, 4096));
  CHECK(data == bytes_of(encoded(wavescope_perfetto_slices, batch.slices, 1)));
  ReadEvents read(8);
  std::int64_t position = 0;
  CHECK(read.read(data, &position) == WAVESCOPE_PACKETS_END);
  CHECK(position == static_cast<std::int64_t>(data.size()));
  const WavescopeTrackEvents& events = read.events;
  CHECK(events.rows == 3 && events.flows == 1 && events.arguments == 3);
  CHECK(events.timestamp[0] == 1 && events.timestamp[1] == 296 && events.timestamp[2] == 296);
  CHECK(events.track[0] == 1 && events.track[1] == 1 && events.track[2] == 200);
  CHECK(events.type[0] == 1 && events.type[1] == 2 && events.type[2] == 1);
  CHECK(events.name[0] == 2 && events.category[0] == 3 && events.second_category[0] == 0);
  CHECK(events.flow_row[0] == 0 && events.flow_id[0] == 9);
  CHECK(events.argument_name[0] == 1 && events.argument_kind[0] == 0 && events.argument_value[0] == -5);
  CHECK(events.argument_name[1] == 6 && events.argument_kind[1] == 2 && events.argument_size[1] == 9);
  CHECK(data[static_cast<std::size_t>(events.argument_value[1])] == '-');
  CHECK(events.argument_name[2] == 4 && events.argument_kind[2] == 2 && events.argument_size[2] == 5);
  CHECK(data[static_cast<std::size_t>(events.argument_value[2])] == 'a');
}

void reading_stops_when_arrays_are_full() {
  Batch batch = perfetto_batch();
  const Bytes data = bytes_of(encoded(wavescope_perfetto_slices, batch.slices, 4096));
  ReadEvents read(3);
  read.events.capacity = 2;
  std::int64_t position = 0;
  CHECK(read.read(data, &position) == WAVESCOPE_PACKETS_FULL);
  CHECK(read.events.rows == 2);
  read.events.rows = read.events.flows = read.events.arguments = 0;
  CHECK(read.read(data, &position) == WAVESCOPE_PACKETS_END);
  CHECK(read.events.rows == 1);
}

void damaged_packets_never_reach_outside() {
  Batch batch = perfetto_batch();
  const Bytes good = bytes_of(encoded(wavescope_perfetto_slices, batch.slices, 4096));
  std::mt19937 random(20250101);
  for (int round = 0; round < 20000; ++round) {
    Bytes bad(good.begin(), good.begin() + static_cast<std::ptrdiff_t>(random() % (good.size() + 1)));
    for (unsigned flips = random() % 4; flips != 0 && !bad.empty(); --flips) {
      bad[random() % bad.size()] = static_cast<std::uint8_t>(random());
    }
    bad.shrink_to_fit();
    ReadEvents read(4);
    std::int64_t position = 0;
    read.read(bad, &position);
    CHECK(position >= 0 && position <= static_cast<std::int64_t>(bad.size()));
    CHECK(read.events.rows <= 4 && read.events.flows <= 4 && read.events.arguments <= 4);
  }
}

}  // namespace

int main() {
  flat_lanes_hold_one_slice_at_a_time();
  nested_lanes_hold_slices_inside_slices();
  many_crossing_slices_stay_cheap();
  negative_tracks_are_refused();
  steps_fill_their_bins();
  chrome_text_is_exact();
  packets_are_read_back();
  reading_stops_when_arrays_are_full();
  damaged_packets_never_reach_outside();
  return 0;
}
