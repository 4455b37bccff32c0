// Reads track events from Perfetto packets; see trace_encoder.h. Field numbers are those of Perfetto's .proto files.

#include "trace_encoder/trace_encoder.h"
#include "trace_encoder/wire_reader.h"

namespace {

using wavescope::Field;
using wavescope::WireReader;
using wavescope::WireType;

constexpr std::uint8_t kTracePacketTag = 0x0A;
constexpr std::int64_t kCounterEvent = 4;

enum class Result { kPlain, kOther, kFull, kDamaged };

class EventReader {
 public:
  EventReader(const std::uint8_t* data, WavescopeTrackEvents* events) : data_(data), events_(*events) {}

  // Adds the event of one packet; leaves nothing behind unless the packet is a plain one.
  Result read(const std::uint8_t* bytes, std::size_t size) {
    const std::int64_t flows = events_.flows;
    const std::int64_t arguments = events_.arguments;
    const Result result = packet(bytes, size);
    if (result != Result::kPlain) {
      events_.flows = flows;
      events_.arguments = arguments;
    } else if (events_.type[events_.rows] == kCounterEvent) {
      ++events_.counters;
      events_.flows = flows;
      events_.arguments = arguments;
    } else {
      ++events_.rows;
    }
    return result;
  }

 private:
  Result packet(const std::uint8_t* bytes, std::size_t size) {
    if (events_.rows == events_.capacity) {
      return Result::kFull;
    }
    start_row();
    WireReader reader(bytes, size);
    Field event;
    bool has_event = false;
    Field field;
    while (!reader.at_end()) {
      if (!reader.next(&field)) {
        return Result::kDamaged;
      }
      if (field.number == 11 && field.type == WireType::kLength && !has_event) {
        event = field;
        has_event = true;
      } else if (!header(field)) {
        return Result::kOther;
      }
    }
    return has_event ? track_event(event) : Result::kOther;
  }

  void start_row() {
    const std::int64_t row = events_.rows;
    events_.timestamp[row] = 0;
    events_.track[row] = -1;
    events_.sequence[row] = 0;
    events_.type[row] = 0;
    events_.name[row] = 0;
    events_.name_offset[row] = -1;
    events_.name_size[row] = 0;
    events_.category[row] = 0;
    events_.second_category[row] = 0;
  }

  // Takes a field of the packet besides the event; false when it needs more than this reader knows.
  bool header(const Field& field) {
    const std::int64_t row = events_.rows;
    if (field.type != WireType::kVarint) {
      return false;
    }
    switch (field.number) {
      case 8: events_.timestamp[row] = static_cast<std::int64_t>(field.value); return true;
      case 10: events_.sequence[row] = static_cast<std::int64_t>(field.value); return true;
      case 13: return (field.value & 1U) == 0;  // bit 0: interned strings are void from here on
      case 3:                                   // trusted_uid
      case 42:                                  // previous_packet_dropped
      case 79:                                  // trusted_pid
        return true;
      default: return false;
    }
  }

  Result track_event(const Field& event) {
    WireReader reader(event.bytes, event.size);
    Field field;
    while (!reader.at_end()) {
      if (!reader.next(&field)) {
        return Result::kDamaged;
      }
      const Result result = event_field(field);
      if (result != Result::kPlain) {
        return result;
      }
    }
    return Result::kPlain;
  }

  Result event_field(const Field& field) {
    const std::int64_t row = events_.rows;
    const auto number = static_cast<std::int64_t>(field.value);
    if (field.type == WireType::kVarint) {
      switch (field.number) {
        case 3: add_category(number); break;
        case 9: events_.type[row] = number; break;
        case 10: events_.name[row] = number; break;
        case 11: events_.track[row] = number; break;
        default: break;
      }
    } else if (field.type == WireType::kFixed64 && (field.number == 47 || field.number == 48)) {
      return add_flow(number);
    } else if (field.type == WireType::kLength) {
      switch (field.number) {
        case 3: return packed_categories(field);
        case 4: return annotation(field);
        case 23:
          events_.name_offset[row] = field.bytes - data_;
          events_.name_size[row] = static_cast<std::int64_t>(field.size);
          break;
        case 47:
        case 48: return packed_flows(field);
        default: break;
      }
    }
    return Result::kPlain;
  }

  void add_category(std::int64_t number) {
    const std::int64_t row = events_.rows;
    if (events_.category[row] == 0) {
      events_.category[row] = number;
    } else if (events_.second_category[row] == 0) {
      events_.second_category[row] = number;
    }
  }

  Result packed_categories(const Field& field) {
    WireReader reader(field.bytes, field.size);
    std::uint64_t number = 0;
    while (!reader.at_end()) {
      if (!reader.varint(&number)) {
        return Result::kDamaged;
      }
      add_category(static_cast<std::int64_t>(number));
    }
    return Result::kPlain;
  }

  Result packed_flows(const Field& field) {
    if (field.size % 8 != 0) {
      return Result::kDamaged;
    }
    for (std::size_t at = 0; at < field.size; at += 8) {
      std::uint64_t flow = 0;
      for (std::size_t byte = 0; byte < 8; ++byte) {
        flow |= static_cast<std::uint64_t>(field.bytes[at + byte]) << (8 * byte);
      }
      const Result result = add_flow(static_cast<std::int64_t>(flow));
      if (result != Result::kPlain) {
        return result;
      }
    }
    return Result::kPlain;
  }

  Result add_flow(std::int64_t flow) {
    if (events_.flows == events_.flow_capacity) {
      return Result::kFull;
    }
    events_.flow_row[events_.flows] = events_.rows;
    events_.flow_id[events_.flows++] = flow;
    return Result::kPlain;
  }

  Result annotation(const Field& message) {
    WireReader reader(message.bytes, message.size);
    Field field;
    std::int64_t name = 0;
    std::int64_t kind = -1;
    std::int64_t value = 0;
    std::int64_t size = 0;
    while (!reader.at_end()) {
      if (!reader.next(&field)) {
        return Result::kDamaged;
      }
      const auto number = static_cast<std::int64_t>(field.value);
      if (field.type == WireType::kVarint && field.number == 1) {
        name = number;
      } else if (field.type == WireType::kVarint && field.number >= 2 && field.number <= 4) {
        kind = 0;
        value = number;
      } else if (field.type == WireType::kVarint && field.number == 17) {
        kind = 1;
        value = number;
      } else if (field.type == WireType::kLength && field.number == 6) {
        kind = 2;
        value = field.bytes - data_;
        size = static_cast<std::int64_t>(field.size);
      }
    }
    return name == 0 || kind < 0 ? Result::kPlain : add_argument(name, kind, value, size);
  }

  Result add_argument(std::int64_t name, std::int64_t kind, std::int64_t value, std::int64_t size) {
    if (events_.arguments == events_.argument_capacity) {
      return Result::kFull;
    }
    const std::int64_t at = events_.arguments++;
    events_.argument_row[at] = events_.rows;
    events_.argument_name[at] = name;
    events_.argument_kind[at] = kind;
    events_.argument_value[at] = value;
    events_.argument_size[at] = size;
    return Result::kPlain;
  }

  const std::uint8_t* data_;
  WavescopeTrackEvents& events_;
};

}  // namespace

extern "C" int wavescope_perfetto_events(const std::uint8_t* data, std::int64_t size, std::int64_t* position,
                                         WavescopeTrackEvents* events) {
  EventReader event_reader(data, events);
  while (*position < size) {
    const std::uint8_t* start = data + *position;
    const auto left = static_cast<std::size_t>(size - *position);
    if (*start != kTracePacketTag) {
      return WAVESCOPE_PACKETS_OTHER;
    }
    WireReader reader(start + 1, left - 1);
    std::uint64_t packet_size = 0;
    if (!reader.varint(&packet_size)) {
      return left > 10 ? WAVESCOPE_PACKETS_DAMAGED : WAVESCOPE_PACKETS_END;
    }
    const auto header = static_cast<std::size_t>(reader.position() - start);
    if (packet_size > left - header) {
      return WAVESCOPE_PACKETS_END;
    }
    switch (event_reader.read(reader.position(), static_cast<std::size_t>(packet_size))) {
      case Result::kPlain: *position += static_cast<std::int64_t>(header + packet_size); break;
      case Result::kFull: return WAVESCOPE_PACKETS_FULL;
      case Result::kOther: return WAVESCOPE_PACKETS_OTHER;
      case Result::kDamaged: return WAVESCOPE_PACKETS_DAMAGED;
    }
  }
  return WAVESCOPE_PACKETS_END;
}
