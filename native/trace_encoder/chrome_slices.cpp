// Slices as Chrome trace events: one JSON object per line, each preceded by a comma.

#include "trace_encoder/byte_sink.h"
#include "trace_encoder/size3.h"
#include "trace_encoder/trace_encoder.h"

namespace {

using wavescope::ByteSink;
using wavescope::Size3;
using wavescope::Span;

constexpr std::int64_t kUnknown = -1;
constexpr std::size_t kFixedSize = 160;   // punctuation, keys and numbers of one slice
constexpr std::size_t kFlowSize = 200;    // one flow event
constexpr std::size_t kNumberSize = 21;   // a comma and a 64-bit decimal
constexpr std::size_t kEscapedByte = 6;   // one byte of text as \u00XX

std::uint64_t difference(std::int64_t later, std::int64_t earlier) {
  return static_cast<std::uint64_t>(later) - static_cast<std::uint64_t>(earlier);
}

std::int64_t flow_count(const WavescopeSlices& slices, std::int64_t row) {
  return slices.flow_offsets == nullptr ? 0 : slices.flow_offsets[row + 1] - slices.flow_offsets[row];
}

std::size_t largest_size(const WavescopeSlices& slices, std::int64_t row) {
  std::size_t size = kFixedSize + Span::of(slices.bodies, slices.body_offsets, slices.body[row]).size;
  for (std::int64_t column = 0; column < slices.integer_count; ++column) {
    size += Span::of(slices.labels, slices.label_offsets, column).size + kNumberSize;
  }
  for (std::int64_t column = 0; column < slices.size_count; ++column) {
    size += Span::of(slices.labels, slices.label_offsets, slices.integer_count + column).size + 3 * kNumberSize + 2;
  }
  if (slices.text_offsets != nullptr) {
    size += Span::of(slices.labels, slices.label_offsets, slices.integer_count + slices.size_count).size + 3 +
            Span::of(slices.text, slices.text_offsets, row).size * kEscapedByte;
  }
  return size + static_cast<std::size_t>(flow_count(slices, row)) * kFlowSize;
}

void escaped(ByteSink& sink, Span text) {
  constexpr char kHex[] = "0123456789abcdef";
  sink.byte('"');
  for (std::size_t at = 0; at < text.size; ++at) {
    const std::uint8_t value = text.data[at];
    if (value >= 0x20 && value != '"' && value != '\\' && value != '<') {
      sink.byte(value);
      continue;
    }
    sink.byte('\\');
    switch (value) {
      case '"': sink.byte('"'); break;
      case '\\': sink.byte('\\'); break;
      case '\b': sink.byte('b'); break;
      case '\t': sink.byte('t'); break;
      case '\n': sink.byte('n'); break;
      case '\f': sink.byte('f'); break;
      case '\r': sink.byte('r'); break;
      default:
        sink.literal("u00");
        sink.byte(static_cast<std::uint8_t>(kHex[value >> 4U]));
        sink.byte(static_cast<std::uint8_t>(kHex[value & 0x0FU]));
    }
  }
  sink.byte('"');
}

void write_place(ByteSink& sink, const WavescopeSlices& slices, std::int64_t row) {
  sink.literal("\"pid\":");
  sink.signed_decimal(slices.process[row]);
  sink.literal(",\"tid\":");
  sink.signed_decimal(slices.track[row]);
  sink.literal(",\"ts\":");
  sink.microseconds(difference(slices.start_ns[row], slices.base_ns));
}

void write_slice(ByteSink& sink, const WavescopeSlices& slices, std::int64_t row) {
  sink.literal(",\n{");
  write_place(sink, slices, row);
  if (slices.instant == nullptr || slices.instant[row] == 0) {
    sink.literal(",\"dur\":");
    sink.microseconds(difference(slices.end_ns[row], slices.start_ns[row]));
  }
  sink.byte(',');
  const Span body = Span::of(slices.bodies, slices.body_offsets, slices.body[row]);
  sink.bytes(body.data, body.size);
  bool first = body.size == 0 || body.data[body.size - 1] == '{';
  const auto label = [&](std::int64_t column) {
    if (!first) {
      sink.byte(',');
    }
    first = false;
    const Span name = Span::of(slices.labels, slices.label_offsets, column);
    sink.bytes(name.data, name.size);
  };
  for (std::int64_t column = 0; column < slices.integer_count; ++column) {
    if (slices.integers[column][row] != kUnknown) {
      label(column);
      sink.signed_decimal(slices.integers[column][row]);
    }
  }
  for (std::int64_t column = 0; column < slices.size_count; ++column) {
    const Size3 size(slices, column, row);
    if (size.is_known()) {
      label(slices.integer_count + column);
      sink.byte('"');
      size.write(sink);
      sink.byte('"');
    }
  }
  if (slices.text_offsets != nullptr) {
    const Span text = Span::of(slices.text, slices.text_offsets, row);
    if (text.size != 0) {
      label(slices.integer_count + slices.size_count);
      escaped(sink, text);
    }
  }
  sink.literal("}}");
}

// Flow events bind to the slice around their time, which a slice without length is not: its flows are left out.
void write_flows(ByteSink& sink, const WavescopeSlices& slices, std::int64_t row) {
  if (slices.start_ns[row] == slices.end_ns[row]) {
    return;
  }
  for (std::int64_t flow = slices.flow_offsets[row]; flow < slices.flow_offsets[row + 1]; ++flow) {
    sink.literal(",\n{");
    write_place(sink, slices, row);
    if (slices.incoming_flows != 0) {
      sink.literal(",\"ph\":\"f\",\"bp\":\"e\"");
    } else {
      sink.literal(",\"ph\":\"s\"");
    }
    sink.literal(",\"name\":\"launch\",\"cat\":\"ac2g\",\"id\":");
    sink.signed_decimal(slices.flow_ids[flow]);
    sink.byte('}');
  }
}

}  // namespace

extern "C" std::int64_t wavescope_chrome_slices(const WavescopeSlices* slices, std::int64_t* next_row, std::uint8_t* out,
                                                std::int64_t capacity) {
  ByteSink sink(out);
  const std::int64_t first_row = *next_row;
  for (; *next_row < slices->rows; ++*next_row) {
    const std::int64_t row = *next_row;
    const auto needed = static_cast<std::int64_t>(largest_size(*slices, row));
    if (needed > capacity - (sink.position() - out)) {
      return row == first_row ? -needed : sink.position() - out;
    }
    write_slice(sink, *slices, row);
    if (flow_count(*slices, row) != 0) {
      write_flows(sink, *slices, row);
    }
  }
  return sink.position() - out;
}
