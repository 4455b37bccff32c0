#include "chrome_json/event.h"

#include <algorithm>
#include <cstddef>

#include "chrome_json/decimal.h"
#include "chrome_json/text.h"

namespace wavescope::chrome_json {
namespace {

void clear_args(Event& event) {
  event.args = {};
  event.kind = Scalar{};
  event.full_name = Scalar{};
  event.grid_is_text = false;
  std::fill(std::begin(event.arguments), std::end(event.arguments), WAVESCOPE_CHROME_ABSENT);
}

// The member of the event that `key` names, nullptr when it is not read.
Scalar* member_named(Event& event, std::string_view key) {
  switch (key.size()) {
    case 2:
      if (key == "ph") return &event.phase;
      if (key == "ts") return &event.start;
      if (key == "id") return &event.id;
      return key == "bp" ? &event.binding_point : nullptr;
    case 3:
      if (key == "cat") return &event.category;
      if (key == "pid") return &event.process;
      if (key == "tid") return &event.thread;
      return key == "dur" ? &event.duration : nullptr;
    case 4: return key == "name" ? &event.name : nullptr;
    default: return nullptr;
  }
}

// Which integer of args `key` names, WAVESCOPE_CHROME_ARGUMENT_COUNT when it is not read. Besides Kineto's spellings, older
// (external id) and newer, these are those of exports of rocpd traces (gpu, graph, graph_node, lds_bytes) and our own.
int argument_named(std::string_view key) {
  switch (key.size()) {
    case 3: return key == "gpu" ? WAVESCOPE_CHROME_DEVICE : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 5:
      if (key == "bytes") return WAVESCOPE_CHROME_BYTES;
      if (key == "graph") return WAVESCOPE_CHROME_GRAPH_ID;
      return key == "queue" ? WAVESCOPE_CHROME_QUEUE : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 6:
      if (key == "device") return WAVESCOPE_CHROME_DEVICE;
      if (key == "kernel") return WAVESCOPE_CHROME_KERNEL;
      if (key == "thread") return WAVESCOPE_CHROME_THREAD;
      if (key == "marker") return WAVESCOPE_CHROME_MARKER;
      return key == "stream" ? WAVESCOPE_CHROME_STREAM : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 7:
      if (key == "process") return WAVESCOPE_CHROME_PROCESS;
      return key == "context" ? WAVESCOPE_CHROME_CONTEXT : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 8:
      if (key == "sequence") return WAVESCOPE_CHROME_SEQUENCE;
      return key == "graph id" ? WAVESCOPE_CHROME_GRAPH_ID : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 9: return key == "lds_bytes" ? WAVESCOPE_CHROME_SHARED_MEMORY : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 10: return key == "graph_node" ? WAVESCOPE_CHROME_GRAPH_NODE_ID : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 11:
      if (key == "correlation") return WAVESCOPE_CHROME_CORRELATION;
      return key == "External id" || key == "external id" ? WAVESCOPE_CHROME_EXTERNAL_ID : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 13:
      if (key == "graph node id") return WAVESCOPE_CHROME_GRAPH_NODE_ID;
      if (key == "scratch_bytes") return WAVESCOPE_CHROME_SCRATCH_BYTES;
      if (key == "source_device") return WAVESCOPE_CHROME_SOURCE_DEVICE;
      if (key == "target_device") return WAVESCOPE_CHROME_TARGET_DEVICE;
      return key == "shared memory" ? WAVESCOPE_CHROME_SHARED_MEMORY : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 14: return key == "hardware_queue" ? WAVESCOPE_CHROME_HARDWARE_QUEUE : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    case 20: return key == "registers per thread" ? WAVESCOPE_CHROME_REGISTERS : WAVESCOPE_CHROME_ARGUMENT_COUNT;
    default: return WAVESCOPE_CHROME_ARGUMENT_COUNT;
  }
}

}  // namespace

std::string_view resolve(const Scalar& scalar, std::string& scratch, bool* replaced) {
  if (scalar.kind == Scalar::Kind::number) return scalar.text;
  if (scalar.kind == Scalar::Kind::string && is_valid_utf8(scalar.text)) return scalar.text;
  scratch.clear();
  const bool repaired =
      scalar.kind == Scalar::Kind::string ? append_valid_utf8(scalar.text, scratch) : append_unescaped(scalar.text, scratch);
  if (repaired && replaced != nullptr) *replaced = true;
  return scratch;
}

Scan EventReader::read(Cursor& cursor, int depth, Event& event) {
  event = Event{};
  clear_args(event);
  if (depth >= kMaximumDepth) return cursor.fail("nested more than 256 levels deep");
  bool more = false;
  Scan step = scan_object_start(cursor, more);
  while (step == Scan::done && more) {
    std::string_view key;
    step = scan_key(cursor, key_scratch_, key);
    if (step != Scan::done) return step;
    if (Scalar* member = member_named(event, key); member != nullptr) {
      step = scan_scalar(cursor, depth + 1, *member);
    } else if (key == "args") {
      clear_args(event);
      step = *cursor.at == '{' ? read_args(cursor, depth + 1, event) : skip_value(cursor, depth + 1);
    } else {
      step = skip_value(cursor, depth + 1);
    }
    if (step == Scan::done) step = scan_object_separator(cursor, more);
  }
  return step;
}

Scan EventReader::read_args(Cursor& cursor, int depth, Event& event) {
  if (depth >= kMaximumDepth) return cursor.fail("nested more than 256 levels deep");
  const char* const begin = cursor.at;
  bool more = false;
  Scan step = scan_object_start(cursor, more);
  while (step == Scan::done && more) {
    std::string_view key;
    step = scan_key(cursor, key_scratch_, key);
    if (step == Scan::done) step = read_argument(cursor, depth + 1, key, event);
    if (step == Scan::done) step = scan_object_separator(cursor, more);
  }
  event.args = std::string_view(begin, static_cast<size_t>(cursor.at - begin));
  return step;
}

Scan EventReader::read_argument(Cursor& cursor, int depth, std::string_view key, Event& event) {
  const int argument = argument_named(key);
  if (argument != WAVESCOPE_CHROME_ARGUMENT_COUNT) return read_integer(cursor, depth, event.arguments[argument]);
  if (key == "grid") return read_triple(cursor, depth, &event.arguments[WAVESCOPE_CHROME_GRID_X], event.grid_is_text);
  if (key == "block" || key == "workgroup") {
    bool ignored = false;
    return read_triple(cursor, depth, &event.arguments[WAVESCOPE_CHROME_BLOCK_X], ignored);
  }
  if (key == "full_name") return scan_scalar(cursor, depth, event.full_name);
  if (key == "kind") return scan_scalar(cursor, depth, event.kind);
  return skip_value(cursor, depth);
}

Scan EventReader::read_integer(Cursor& cursor, int depth, int64_t& value) {
  Scalar scalar;
  const Scan step = scan_scalar(cursor, depth, scalar);
  value = WAVESCOPE_CHROME_ABSENT;
  if (step != Scan::done || scalar.kind == Scalar::Kind::other) return step;
  if (!parse_decimal(resolve(scalar, number_scratch_, nullptr), 0, value)) value = WAVESCOPE_CHROME_ABSENT;
  return step;
}

// Reads "256,1,1" or "256x1x1".
Scan EventReader::read_triple_text(Cursor& cursor, int64_t* values) {
  Scalar scalar;
  const Scan step = scan_string(cursor, scalar);
  if (step != Scan::done) return step;
  std::string_view rest = resolve(scalar, number_scratch_, nullptr);
  for (size_t index = 0; index < 3; ++index) {
    const size_t end = std::min(rest.find_first_of(",x"), rest.size());
    if (!parse_decimal(rest.substr(0, end), 0, values[index])) values[index] = WAVESCOPE_CHROME_ABSENT;
    if (end == rest.size()) break;
    rest.remove_prefix(end + 1);
  }
  return step;
}

Scan EventReader::read_triple(Cursor& cursor, int depth, int64_t* values, bool& is_text) {
  std::fill(values, values + 3, WAVESCOPE_CHROME_ABSENT);
  is_text = *cursor.at == '"';
  if (is_text) return read_triple_text(cursor, values);
  if (*cursor.at != '[') return skip_value(cursor, depth);
  if (depth >= kMaximumDepth) return cursor.fail("nested more than 256 levels deep");
  ++cursor.at;
  skip_space(cursor);
  if (*cursor.at == ']') {
    ++cursor.at;
    return Scan::done;
  }
  for (size_t index = 0;; ++index) {
    int64_t ignored = 0;
    const Scan step = read_integer(cursor, depth + 1, index < 3 ? values[index] : ignored);
    if (step != Scan::done) return step;
    skip_space(cursor);
    const char separator = *cursor.at;
    if (separator != ',' && separator != ']') return cursor.unexpected("',' or ']' is missing in a list");
    ++cursor.at;
    if (separator == ']') return Scan::done;
    skip_space(cursor);
  }
}

}  // namespace wavescope::chrome_json
