#include "chrome_json/parser.h"

#include <algorithm>
#include <cstring>

#include "chrome_json/decimal.h"
#include "chrome_json/text.h"

namespace wavescope::chrome_json {
namespace {

// One event or top-level member larger than this is refused: it has to be in memory as a whole.
constexpr size_t kLargestToken = size_t{256} << 20;
// Top-level members beyond this in sum are passed over, not kept.
constexpr size_t kLargestMetadata = size_t{64} << 20;
constexpr int kNanosecondsPerMicrosecondDigits = 3;

bool is_integer(const Scalar& scalar) {
  return scalar.kind == Scalar::Kind::number && scalar.text.find_first_not_of("-0123456789") == std::string_view::npos;
}

}  // namespace

bool Parser::feed(std::string_view bytes) {
  if (state_ == State::failed || finished_) return false;
  const size_t pending = input_.size() < kPadding ? 0 : input_.size() - kPadding - position_;
  if (position_ > 0 && pending > 0) std::memmove(input_.data(), input_.data() + position_, pending);
  consumed_ += static_cast<int64_t>(position_);
  position_ = 0;
  input_.resize(pending);
  input_.append(bytes);
  input_.append(kPadding, '\0');
  return true;
}

void Parser::fail(const char* why, int64_t offset) {
  state_ = State::failed;
  error_ = why;
  error_offset_ = offset;
}

WavescopeChromeStatus Parser::next(const WavescopeChromeColumns& columns, size_t capacity, size_t& rows) {
  if (rows == 0) args_.clear();
  if (input_.empty()) input_.append(kPadding, '\0');
  const char* const begin = input_.data();
  const char* const end = begin + input_.size() - kPadding;
  while (state_ != State::end && state_ != State::failed) {
    if (rows >= capacity) return WAVESCOPE_CHROME_BATCH_FULL;
    const size_t left = static_cast<size_t>(end - begin) - position_;
    if (!finished_ && left < retry_size_) return WAVESCOPE_CHROME_NEED_INPUT;
    Cursor cursor{begin + position_, end};
    const Scan outcome = step(cursor, columns, rows);
    if (outcome == Scan::malformed) {
      fail(cursor.reason, consumed_ + (cursor.at - begin));
    } else if (outcome == Scan::done) {
      position_ = static_cast<size_t>(cursor.at - begin);
      retry_size_ = 0;
    } else if (finished_) {
      return input_is_used_up();
    } else if (left > kLargestToken) {
      fail("one event or member is larger than 256 MiB", offset());
    } else {
      // Doubling keeps the work linear when a token spans many pieces.
      retry_size_ = left * 2;
      return WAVESCOPE_CHROME_NEED_INPUT;
    }
  }
  return state_ == State::end ? WAVESCOPE_CHROME_END : WAVESCOPE_CHROME_ERROR;
}

// The input ended before the file did. Tools that append to an array often leave it open, so that is a whole file.
WavescopeChromeStatus Parser::input_is_used_up() {
  Cursor cursor{input_.data() + position_, input_.data() + input_.size() - kPadding};
  skip_space(cursor);
  const bool clean = cursor.at >= cursor.end;
  if (state_ == State::start && clean) {
    fail("there is nothing in it", offset());
    return WAVESCOPE_CHROME_ERROR;
  }
  const bool whole = state_ == State::trailer || (counts_.is_array != 0 && clean);
  counts_.truncated = whole ? 0 : 1;
  state_ = State::end;
  return WAVESCOPE_CHROME_END;
}

Scan Parser::step(Cursor& cursor, const WavescopeChromeColumns& columns, size_t& rows) {
  if (state_ == State::start && consumed_ == 0 && position_ == 0 && *cursor.at == '\xEF') {
    if (cursor.end - cursor.at < 3) return Scan::incomplete;
    if (cursor.at[1] == '\xBB' && cursor.at[2] == '\xBF') cursor.at += 3;
  }
  skip_space(cursor);
  if (cursor.at >= cursor.end) return Scan::incomplete;
  switch (state_) {
    case State::start: return step_start(cursor);
    case State::first_member:
    case State::member: return step_member(cursor);
    case State::after_member: {
      bool more = false;
      const Scan outcome = scan_object_separator(cursor, more);
      if (outcome == Scan::done) state_ = more ? State::member : State::trailer;
      return outcome;
    }
    case State::element: return step_element(cursor, columns, rows);
    case State::after_element: return step_after_element(cursor);
    case State::trailer: return cursor.fail("there is more text after the end");
    case State::end:
    case State::failed: break;
  }
  return Scan::done;
}

Scan Parser::step_start(Cursor& cursor) {
  if (*cursor.at == '[') {
    counts_.is_array = 1;
    counts_.has_events = 1;
    state_ = State::element;
  } else if (*cursor.at == '{') {
    state_ = State::first_member;
  } else {
    return cursor.fail("neither a JSON object nor a list");
  }
  ++cursor.at;
  return Scan::done;
}

Scan Parser::step_member(Cursor& cursor) {
  if (state_ == State::first_member && *cursor.at == '}') {
    ++cursor.at;
    state_ = State::trailer;
    return Scan::done;
  }
  std::string_view key;
  Scan outcome = scan_key(cursor, key_scratch_, key);
  if (outcome != Scan::done) return outcome;
  if (key == "traceEvents") {
    outcome = expect(cursor, '[', "\"traceEvents\" is not a list");
    if (outcome != Scan::done) return outcome;
    counts_.has_events = 1;
    state_ = State::element;
    return Scan::done;
  }
  const char* const begin = cursor.at;
  outcome = skip_value(cursor, 1);
  if (outcome != Scan::done) return outcome;
  keep_metadata(key, std::string_view(begin, static_cast<size_t>(cursor.at - begin)));
  state_ = State::after_member;
  return Scan::done;
}

Scan Parser::step_element(Cursor& cursor, const WavescopeChromeColumns& columns, size_t& rows) {
  // Reached after a comma too: several exporters leave one behind the last event.
  if (*cursor.at == ']') return step_after_element(cursor);
  Scan outcome;
  if (*cursor.at == '{') {
    outcome = reader_.read(cursor, depth(), event_);
    if (outcome == Scan::done) store(columns, rows++);
  } else {
    outcome = skip_value(cursor, depth());
    if (outcome == Scan::done) ++counts_.not_objects;
  }
  if (outcome == Scan::done) state_ = State::after_element;
  return outcome;
}

Scan Parser::step_after_element(Cursor& cursor) {
  const char separator = *cursor.at;
  if (separator != ',' && separator != ']') return cursor.unexpected("',' or ']' is missing in the event list");
  ++cursor.at;
  if (separator == ',') {
    state_ = State::element;
  } else {
    state_ = counts_.is_array != 0 ? State::trailer : State::after_member;
  }
  return Scan::done;
}

void Parser::keep_metadata(std::string_view name, std::string_view value) {
  if (metadata_size_ + name.size() + value.size() > kLargestMetadata) {
    ++counts_.dropped_metadata;
    return;
  }
  metadata_size_ += name.size() + value.size();
  bool replaced = append_valid_utf8(name, metadata_);
  metadata_ends_.push_back(static_cast<int64_t>(metadata_.size()));
  replaced |= append_compact_json(value, metadata_);
  metadata_ends_.push_back(static_cast<int64_t>(metadata_.size()));
  if (replaced) ++counts_.replaced_texts;
}

void Parser::store(const WavescopeChromeColumns& columns, size_t row) {
  const Event& event = event_;
  uint8_t flags = 0;
  last_category_ = text_code(event.category, last_category_);
  last_process_ = key_code(keys_, event.process, last_process_);
  last_thread_ = key_code(keys_, event.thread, last_thread_);
  columns.phase[row] = letter(event.phase);
  columns.name[row] = text_code(event.full_name.is_string() ? event.full_name : event.name, -1);
  columns.category[row] = last_category_;
  columns.kind[row] = text_code(event.kind, -1);
  columns.process[row] = last_process_;
  columns.thread[row] = last_thread_;
  columns.start_ns[row] = time_ns(event.start, WAVESCOPE_CHROME_HAS_TS, flags);
  columns.duration_ns[row] = time_ns(event.duration, WAVESCOPE_CHROME_HAS_DUR, flags);
  if (letter(event.binding_point) == 'e') flags = static_cast<uint8_t>(flags | WAVESCOPE_CHROME_BINDS_ENCLOSING);
  if (!event.args.empty()) flags = static_cast<uint8_t>(flags | WAVESCOPE_CHROME_HAS_ARGS);
  if (event.grid_is_text) flags = static_cast<uint8_t>(flags | WAVESCOPE_CHROME_GRID_IS_TEXT);
  columns.flags[row] = flags;
  for (size_t index = 0; index < WAVESCOPE_CHROME_ARGUMENT_COUNT; ++index) {
    columns.arguments[index][row] = event.arguments[index];
  }
  store_id(columns, row);
  store_args(columns, row);
  ++counts_.events;
}

uint8_t Parser::letter(const Scalar& scalar) {
  if (!scalar.is_string()) return 0;
  const std::string_view text = resolve(scalar, scratch_, nullptr);
  return text.size() == 1 ? static_cast<uint8_t>(text[0]) : uint8_t{0};
}

int32_t Parser::text_code(const Scalar& scalar, int32_t hint) {
  if (scalar.kind == Scalar::Kind::other) return -1;
  if (scalar.kind != Scalar::Kind::escaped_string) {
    // Whatever is in the table is valid, so only new texts need to be looked at.
    if (hint >= 0 && texts_.at(hint) == scalar.text) return hint;
    if (const int32_t known = texts_.find(scalar.text); known >= 0) return known;
  }
  bool replaced = false;
  const int32_t code = texts_.intern(resolve(scalar, scratch_, &replaced));
  if (replaced) ++counts_.replaced_texts;
  return code;
}

int32_t Parser::key_code(StringTable& table, const Scalar& scalar, int32_t hint) {
  if (scalar.kind == Scalar::Kind::other) return -1;
  const char tag = scalar.is_string() ? 's' : 'n';
  if (hint >= 0 && scalar.kind != Scalar::Kind::escaped_string) {
    const std::string_view last = table.at(hint);
    if (last[0] == tag && last.substr(1) == scalar.text) return hint;
  }
  bool replaced = false;
  const std::string_view text = resolve(scalar, scratch_, &replaced);
  key_scratch_.assign(1, tag);
  key_scratch_.append(text);
  if (replaced) ++counts_.replaced_texts;
  return table.intern(key_scratch_);
}

int64_t Parser::time_ns(const Scalar& scalar, uint8_t flag, uint8_t& flags) {
  int64_t value = 0;
  if (scalar.kind == Scalar::Kind::other) return 0;
  if (!parse_decimal(resolve(scalar, scratch_, nullptr), kNanosecondsPerMicrosecondDigits, value)) {
    ++counts_.unusable_times;
    return 0;
  }
  flags = static_cast<uint8_t>(flags | flag);
  return value;
}

void Parser::store_id(const WavescopeChromeColumns& columns, size_t row) {
  const Scalar& id = event_.id;
  int64_t number = 0;
  if (id.kind == Scalar::Kind::other) {
    columns.id_kind[row] = WAVESCOPE_CHROME_ID_NONE;
  } else if (is_integer(id) && parse_decimal(id.text, 0, number)) {
    columns.id_kind[row] = WAVESCOPE_CHROME_ID_NUMBER;
  } else {
    columns.id_kind[row] = WAVESCOPE_CHROME_ID_TEXT;
    const bool spelled = id.is_string() && spelled_number(resolve(id, scratch_, nullptr), number);
    if (!spelled) number = -1 - key_code(ids_, id, -1);
  }
  columns.id[row] = number;
}

void Parser::store_args(const WavescopeChromeColumns& columns, size_t row) {
  const auto& dropped = dropped_categories_;
  const bool kept = std::find(dropped.begin(), dropped.end(), last_category_) == dropped.end();
  if (kept && !event_.args.empty() && append_compact_json(event_.args, args_)) ++counts_.replaced_texts;
  columns.args_end[row] = static_cast<int64_t>(args_.size());
}

const char* Parser::take(WavescopeChromeTable table, const int64_t*& ends, size_t& count) {
  if (table == WAVESCOPE_CHROME_METADATA) {
    taken_.swap(metadata_);
    taken_ends_.swap(metadata_ends_);
    metadata_.clear();
    metadata_ends_.clear();
  } else {
    (table == WAVESCOPE_CHROME_KEYS ? keys_ : texts_).take_new(taken_, taken_ends_);
  }
  ends = taken_ends_.data();
  count = taken_ends_.size();
  return taken_.c_str();
}

}  // namespace wavescope::chrome_json
