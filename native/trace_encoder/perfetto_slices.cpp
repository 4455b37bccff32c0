// Slices as Perfetto TracePackets: a begin packet directly followed by its end packet.
//
// Perfetto sorts packets by time and keeps file order among equal times, so a slice's end comes before the beginning of
// the next slice at the same time as long as the slices of a track are written in order.

#include "trace_encoder/byte_sink.h"
#include "trace_encoder/size3.h"
#include "trace_encoder/trace_encoder.h"

namespace {

using wavescope::ByteSink;
using wavescope::Size3;
using wavescope::Span;
using wavescope::varint_size;

// Tags are (field number << 3 | wire type) of Perfetto's TracePacket, TrackEvent and DebugAnnotation messages.
constexpr std::uint8_t kTracePacket = 0x0A;
constexpr std::uint8_t kPacketTimestamp = 0x40;
constexpr std::uint8_t kPacketSequence[] = {0x50, 0x01};
constexpr std::uint8_t kPacketNeedsInterned[] = {0x68, 0x02};
constexpr std::uint8_t kPacketTrackEvent = 0x5A;
constexpr std::uint8_t kEventTypeEnd[] = {0x48, 0x02};
constexpr std::uint8_t kEventTrack = 0x58;
constexpr std::uint8_t kEventFlow[] = {0xF9, 0x02};
constexpr std::uint8_t kEventAnnotation = 0x22;
constexpr std::uint8_t kAnnotationInteger = 0x20;
constexpr std::uint8_t kAnnotationText = 0x32;
constexpr std::int64_t kUnknown = -1;

std::size_t nested_size(std::size_t size) { return 1 + varint_size(size) + size; }

std::uint64_t relative(const WavescopeSlices& slices, std::int64_t time_ns) {
  return static_cast<std::uint64_t>(time_ns) - static_cast<std::uint64_t>(slices.base_ns);
}

std::size_t integer_size(const WavescopeSlices& slices, std::int64_t column, std::int64_t value) {
  const Span label = Span::of(slices.labels, slices.label_offsets, column);
  return label.size + 1 + varint_size(static_cast<std::uint64_t>(value));
}

std::size_t text_size(const WavescopeSlices& slices, std::int64_t label, std::size_t size) {
  return Span::of(slices.labels, slices.label_offsets, label).size + nested_size(size);
}

std::int64_t label_of_text(const WavescopeSlices& slices) { return slices.integer_count + slices.size_count; }

struct Row {
  Row(const WavescopeSlices& slices, std::int64_t row)
      : index(row),
        begin_ns(relative(slices, slices.start_ns[row])),
        end_ns(relative(slices, slices.end_ns[row])),
        track(static_cast<std::uint64_t>(slices.track[row])),
        instant(slices.instant != nullptr && slices.instant[row] != 0),
        body(Span::of(slices.bodies, slices.body_offsets, slices.body[row])),
        text{nullptr, 0} {
    if (slices.text_offsets != nullptr) {
      text = Span::of(slices.text, slices.text_offsets, row);
    }
    event_size = body.size + 1 + varint_size(track);
    for (std::int64_t column = 0; column < slices.integer_count; ++column) {
      const std::int64_t value = slices.integers[column][row];
      if (value != kUnknown) {
        event_size += nested_size(integer_size(slices, column, value));
      }
    }
    for (std::int64_t column = 0; column < slices.size_count; ++column) {
      const Size3 size(slices, column, row);
      if (size.is_known()) {
        event_size += nested_size(text_size(slices, slices.integer_count + column, size.text_bytes()));
      }
    }
    if (text.size != 0) {
      event_size += nested_size(text_size(slices, label_of_text(slices), text.size));
    }
    if (slices.flow_offsets != nullptr) {
      const std::int64_t flows = slices.flow_offsets[row + 1] - slices.flow_offsets[row];
      event_size += static_cast<std::size_t>(flows) * (sizeof kEventFlow + 8);
    }
    begin_size = 1 + varint_size(begin_ns) + sizeof kPacketSequence + sizeof kPacketNeedsInterned + nested_size(event_size);
    end_event_size = sizeof kEventTypeEnd + 1 + varint_size(track);
    end_size = 1 + varint_size(end_ns) + sizeof kPacketSequence + nested_size(end_event_size);
  }

  std::size_t size() const { return nested_size(begin_size) + (instant ? 0 : nested_size(end_size)); }

  std::int64_t index;
  std::uint64_t begin_ns;
  std::uint64_t end_ns;
  std::uint64_t track;
  bool instant;
  Span body;
  Span text;
  std::size_t event_size = 0;
  std::size_t begin_size = 0;
  std::size_t end_event_size = 0;
  std::size_t end_size = 0;
};

void nested(ByteSink& sink, std::uint8_t tag, std::size_t size) {
  sink.byte(tag);
  sink.varint(size);
}

void write_arguments(ByteSink& sink, const WavescopeSlices& slices, const Row& row) {
  for (std::int64_t column = 0; column < slices.integer_count; ++column) {
    const std::int64_t value = slices.integers[column][row.index];
    if (value == kUnknown) {
      continue;
    }
    const Span label = Span::of(slices.labels, slices.label_offsets, column);
    nested(sink, kEventAnnotation, integer_size(slices, column, value));
    sink.bytes(label.data, label.size);
    sink.byte(kAnnotationInteger);
    sink.varint(static_cast<std::uint64_t>(value));
  }
  for (std::int64_t column = 0; column < slices.size_count; ++column) {
    const Size3 size(slices, column, row.index);
    if (!size.is_known()) {
      continue;
    }
    const std::int64_t place = slices.integer_count + column;
    const Span label = Span::of(slices.labels, slices.label_offsets, place);
    nested(sink, kEventAnnotation, text_size(slices, place, size.text_bytes()));
    sink.bytes(label.data, label.size);
    nested(sink, kAnnotationText, size.text_bytes());
    size.write(sink);
  }
  if (row.text.size != 0) {
    const Span label = Span::of(slices.labels, slices.label_offsets, label_of_text(slices));
    nested(sink, kEventAnnotation, text_size(slices, label_of_text(slices), row.text.size));
    sink.bytes(label.data, label.size);
    nested(sink, kAnnotationText, row.text.size);
    sink.bytes(row.text.data, row.text.size);
  }
}

void write_begin(ByteSink& sink, const WavescopeSlices& slices, const Row& row) {
  nested(sink, kTracePacket, row.begin_size);
  sink.byte(kPacketTimestamp);
  sink.varint(row.begin_ns);
  sink.bytes(kPacketSequence, sizeof kPacketSequence);
  sink.bytes(kPacketNeedsInterned, sizeof kPacketNeedsInterned);
  nested(sink, kPacketTrackEvent, row.event_size);
  sink.bytes(row.body.data, row.body.size);
  write_arguments(sink, slices, row);
  sink.byte(kEventTrack);
  sink.varint(row.track);
  if (slices.flow_offsets != nullptr) {
    for (std::int64_t flow = slices.flow_offsets[row.index]; flow < slices.flow_offsets[row.index + 1]; ++flow) {
      sink.bytes(kEventFlow, sizeof kEventFlow);
      sink.fixed64(static_cast<std::uint64_t>(slices.flow_ids[flow]));
    }
  }
}

void write_end(ByteSink& sink, const Row& row) {
  nested(sink, kTracePacket, row.end_size);
  sink.byte(kPacketTimestamp);
  sink.varint(row.end_ns);
  sink.bytes(kPacketSequence, sizeof kPacketSequence);
  nested(sink, kPacketTrackEvent, row.end_event_size);
  sink.bytes(kEventTypeEnd, sizeof kEventTypeEnd);
  sink.byte(kEventTrack);
  sink.varint(row.track);
}

}  // namespace

extern "C" std::int64_t wavescope_perfetto_slices(const WavescopeSlices* slices, std::int64_t* next_row, std::uint8_t* out,
                                                  std::int64_t capacity) {
  ByteSink sink(out);
  const std::int64_t first_row = *next_row;
  for (; *next_row < slices->rows; ++*next_row) {
    const Row row(*slices, *next_row);
    const std::int64_t left = capacity - (sink.position() - out);
    if (static_cast<std::int64_t>(row.size()) > left) {
      return *next_row == first_row ? -static_cast<std::int64_t>(row.size()) : sink.position() - out;
    }
    write_begin(sink, *slices, row);
    if (!row.instant) {
      write_end(sink, row);
    }
  }
  return sink.position() - out;
}
