// Wave files: `{"duration":..,"wave":{"begin":..,"instructions":[[time,category,stall,duration,line],..],"waitcnt":
// [[line,[[line,0],..]],..]}}`. Members may come in any order; others are passed over, "timeline" among them.
#include <limits>
#include <new>
#include <string>
#include <string_view>

#include "chrome_json/tokens.h"
#include "thread_trace/thread_trace.h"

namespace {

using wavescope::chrome_json::Cursor;
using wavescope::chrome_json::expect;
using wavescope::chrome_json::Scan;
using wavescope::chrome_json::scan_key;
using wavescope::chrome_json::scan_object_separator;
using wavescope::chrome_json::scan_object_start;
using wavescope::chrome_json::skip_space;
using wavescope::chrome_json::skip_value;

constexpr int64_t kAbsent = std::numeric_limits<int64_t>::min();
constexpr int64_t kMostTime = int64_t{1} << 53;  // a shader clock gets there in months
constexpr int kDepth = 4;  // containers around the tuples of a wave file

enum class Number : uint8_t { integer, other, incomplete };

// Reads an integer of 64 bits; anything else leaves the cursor where it is.
Number scan_integer(Cursor& cursor, int64_t& value) {
  constexpr int kMostDigits = 19;
  const char* at = cursor.at;
  const bool is_negative = *at == '-';
  if (is_negative) ++at;
  const char* const first = at;
  uint64_t magnitude = 0;
  while (*at >= '0' && *at <= '9') {
    if (at - first >= kMostDigits) return Number::other;
    magnitude = magnitude * 10 + static_cast<uint64_t>(*at - '0');
    ++at;
  }
  if (at >= cursor.end) return Number::incomplete;
  if (at == first || *at == '.' || *at == 'e' || *at == 'E') return Number::other;
  if (magnitude > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return Number::other;
  value = is_negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  cursor.at = at;
  return Number::integer;
}

class WaveReader {
 public:
  WaveReader(const char* text, size_t size, WavescopeWaveColumns& columns, WavescopeWaveFacts& facts)
      : cursor_{text, text + size}, columns_(columns), facts_(facts) {}

  WavescopeWaveStatus read() {
    skip_space(cursor_);
    const Scan scan = read_object([this](std::string_view key) {
      if (key != "wave" || *cursor_.at != '{') return skip_value(cursor_, 1);
      has_wave_ = true;
      return read_object([this](std::string_view member) { return read_member(member); });
    });
    if (is_full_) return WAVESCOPE_WAVE_FULL;
    if (scan == Scan::done) {
      skip_space(cursor_);
      if (cursor_.at < cursor_.end) return WAVESCOPE_WAVE_MALFORMED;
      return has_wave_ ? WAVESCOPE_WAVE_WHOLE : WAVESCOPE_WAVE_NOT_A_WAVE;
    }
    if (scan == Scan::incomplete) return WAVESCOPE_WAVE_CUT;
    return WAVESCOPE_WAVE_MALFORMED;
  }

 private:
  template <typename Member>
  Scan read_object(Member member) {
    bool more = false;
    if (const Scan scan = scan_object_start(cursor_, more); scan != Scan::done) return scan;
    while (more) {
      std::string scratch;
      std::string_view key;
      if (const Scan scan = scan_key(cursor_, scratch, key); scan != Scan::done) return scan;
      if (const Scan scan = member(key); scan != Scan::done) return scan;
      if (const Scan scan = scan_object_separator(cursor_, more); scan != Scan::done) return scan;
    }
    return Scan::done;
  }

  Scan read_member(std::string_view key) {
    if (key == "instructions") return read_list([this] { return read_event(); });
    if (key == "waitcnt") return read_list([this] { return read_dependencies(); });
    int64_t* const value = fact(key);
    if (value == nullptr) return skip_value(cursor_, 2);
    switch (scan_integer(cursor_, *value)) {
      case Number::integer:
        if (!is_time(*value)) *value = kAbsent;
        return Scan::done;
      case Number::incomplete: return Scan::incomplete;
      case Number::other: break;
    }
    return skip_value(cursor_, 2);
  }

  int64_t* fact(std::string_view key) {
    if (key == "begin") return &facts_.begin;
    if (key == "end") return &facts_.end;
    if (key == "cu") return &facts_.cu;
    if (key == "id") return &facts_.id;
    if (key == "simd") return &facts_.simd;
    if (key == "slot") return &facts_.slot;
    return nullptr;
  }

  // A list, each element read by `element`; null and other values are passed over.
  template <typename Element>
  Scan read_list(Element element) {
    if (*cursor_.at != '[') return skip_value(cursor_, 2);
    ++cursor_.at;
    skip_space(cursor_);
    if (*cursor_.at == ']') {
      ++cursor_.at;
      return Scan::done;
    }
    for (;;) {
      if (const Scan scan = element(); scan != Scan::done) return scan;
      skip_space(cursor_);
      if (*cursor_.at == ',') {
        ++cursor_.at;
        skip_space(cursor_);
        continue;
      }
      return expect(cursor_, ']', "expected a comma or the end of a list");
    }
  }

  // Reads `[n, n, ...` up to `count` integers and passes the rest of the tuple; false in `usable` for anything else.
  Scan read_tuple(int64_t* values, int count, bool& usable) {
    const char* const start = cursor_.at;
    usable = false;
    if (*cursor_.at == '[') {
      ++cursor_.at;
      int have = 0;
      for (; have < count; ++have) {
        skip_space(cursor_);
        const Number number = scan_integer(cursor_, values[have]);
        if (number == Number::incomplete) return Scan::incomplete;
        if (number == Number::other) break;
        skip_space(cursor_);
        if (*cursor_.at != ',') {
          ++have;
          break;
        }
        ++cursor_.at;
      }
      if (have == count && cursor_.at < cursor_.end) {
        if (*cursor_.at == ']') {
          ++cursor_.at;
          usable = true;
          return Scan::done;
        }
        usable = cursor_.at[-1] == ',';  // a longer tuple; what follows is passed over below
      }
    }
    cursor_.at = start;
    const Scan scan = skip_value(cursor_, kDepth);
    if (scan != Scan::done) usable = false;
    if (!usable && scan == Scan::done) ++facts_.unusable;
    return scan;
  }

  Scan read_event() {
    int64_t values[5];
    bool usable = false;
    if (const Scan scan = read_tuple(values, 5, usable); scan != Scan::done || !usable) return scan;
    if (!is_time(values[0]) || !fits(values[1], 255) || !fits(values[2]) || !fits(values[3])) {
      ++facts_.unusable;
      return Scan::done;
    }
    const int64_t place = columns_.event_count;
    if (place >= columns_.event_capacity) return full();
    columns_.time[place] = values[0];
    columns_.category[place] = static_cast<uint8_t>(values[1]);
    columns_.stall[place] = static_cast<int32_t>(values[2]);
    columns_.duration[place] = static_cast<int32_t>(values[3]);
    columns_.line[place] = line_of(values[4]);
    ++columns_.event_count;
    return Scan::done;
  }

  // One `[line, [[line, 0], ...]]`.
  Scan read_dependencies() {
    const char* const start = cursor_.at;
    const int64_t producers_before = columns_.producer_count;
    int64_t wait = 0;
    if (*cursor_.at == '[') {
      ++cursor_.at;
      skip_space(cursor_);
      const Number number = scan_integer(cursor_, wait);
      if (number == Number::incomplete) return Scan::incomplete;
      skip_space(cursor_);
      if (number == Number::integer && *cursor_.at == ',') {
        ++cursor_.at;
        skip_space(cursor_);
        if (*cursor_.at == '[') return finish_dependencies(start, wait, producers_before);
      }
    }
    cursor_.at = start;
    const Scan scan = skip_value(cursor_, kDepth);
    if (scan == Scan::done) ++facts_.unusable;
    return scan;
  }

  Scan finish_dependencies(const char* start, int64_t wait, int64_t producers_before) {
    Scan scan = read_list([this] { return read_producer(); });
    if (scan == Scan::done) {
      cursor_.at = start;  // what may follow the producers is passed over
      scan = skip_value(cursor_, kDepth);
    }
    if (scan != Scan::done) {
      columns_.producer_count = producers_before;
      return scan;
    }
    const int64_t place = columns_.list_count;
    if (place >= columns_.list_capacity) return full();
    columns_.wait_line[place] = line_of(wait);
    columns_.producer_end[place] = columns_.producer_count;
    ++columns_.list_count;
    return Scan::done;
  }

  Scan read_producer() {
    int64_t value = 0;
    bool usable = false;
    if (const Scan scan = read_tuple(&value, 1, usable); scan != Scan::done || !usable) return scan;
    if (columns_.producer_count >= columns_.producer_capacity) return full();
    columns_.producer_line[columns_.producer_count++] = line_of(value);
    return Scan::done;
  }

  static bool fits(int64_t value, int64_t most = std::numeric_limits<int32_t>::max()) { return value >= 0 && value <= most; }

  static bool is_time(int64_t value) { return value > -kMostTime && value < kMostTime; }

  static int32_t line_of(int64_t value) { return fits(value) ? static_cast<int32_t>(value) : -1; }

  Scan full() {
    is_full_ = true;
    return cursor_.fail("a column is full");
  }

  Cursor cursor_;
  WavescopeWaveColumns& columns_;
  WavescopeWaveFacts& facts_;
  bool has_wave_ = false;
  bool is_full_ = false;
};

}  // namespace

WavescopeWaveStatus wavescope_wave_read(const char* text, size_t size, WavescopeWaveColumns* columns,
                                        WavescopeWaveFacts* facts) {
  *facts = {kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, kAbsent, 0};
  const WavescopeWaveColumns before = *columns;
  try {
    const WavescopeWaveStatus status = WaveReader(text, size, *columns, *facts).read();
    if (status == WAVESCOPE_WAVE_FULL) *columns = before;
    return status;
  } catch (const std::bad_alloc&) {
    *columns = before;
    return WAVESCOPE_WAVE_FULL;
  }
}
