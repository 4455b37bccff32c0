#include "chrome_json/tokens.h"

#include <cstddef>
#include <cstring>

#include "chrome_json/text.h"

#ifdef __SSE2__
#include <emmintrin.h>
#endif

namespace wavescope::chrome_json {
namespace {

const char* find_quote_or_backslash(const char* at, const char* end) {
#ifdef __SSE2__
  const __m128i quote = _mm_set1_epi8('"');
  const __m128i backslash = _mm_set1_epi8('\\');
  for (; at < end; at += 16) {
    const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(at));
    const int found = _mm_movemask_epi8(_mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, backslash)));
    if (found != 0) return at + __builtin_ctz(static_cast<unsigned>(found));
  }
  return end;
#else
  while (at < end && *at != '"' && *at != '\\') ++at;
  return at;
#endif
}

bool is_digit(char character) { return character >= '0' && character <= '9'; }

Scan scan_escape(Cursor& cursor) {
  if (cursor.end - cursor.at < 2) return Scan::incomplete;
  switch (cursor.at[1]) {
    case '"':
    case '\\':
    case '/':
    case 'b':
    case 'f':
    case 'n':
    case 'r':
    case 't': cursor.at += 2; return Scan::done;
    case 'u':
      for (int index = 2; index < 6; ++index) {
        if (cursor.at + index >= cursor.end) return Scan::incomplete;
        if (hexadecimal_value(cursor.at[index]) < 0) return cursor.fail("bad \\u escape in a string");
      }
      cursor.at += 6;
      return Scan::done;
    default: return cursor.fail("bad escape in a string");
  }
}

Scan scan_literal(Cursor& cursor, std::string_view literal) {
  const size_t available = static_cast<size_t>(cursor.end - cursor.at);
  const size_t compared = available < literal.size() ? available : literal.size();
  if (std::memcmp(cursor.at, literal.data(), compared) != 0) return cursor.fail("unknown word where a value is expected");
  if (compared < literal.size()) return Scan::incomplete;
  cursor.at += literal.size();
  return Scan::done;
}

// Passes over one or more digits; a number that touches the end may go on in the next piece.
Scan scan_digits(Cursor& cursor) {
  if (!is_digit(*cursor.at)) return cursor.unexpected("a digit is missing in a number");
  while (is_digit(*cursor.at)) ++cursor.at;
  return cursor.at >= cursor.end ? Scan::incomplete : Scan::done;
}

Scan scan_number(Cursor& cursor) {
  if (*cursor.at == '-') {
    ++cursor.at;
    if (*cursor.at == 'I') return scan_literal(cursor, "Infinity");
  }
  if (*cursor.at == '0') {
    ++cursor.at;
    if (cursor.at >= cursor.end) return Scan::incomplete;
  } else if (const Scan whole = scan_digits(cursor); whole != Scan::done) {
    return whole;
  }
  if (*cursor.at == '.') {
    ++cursor.at;
    if (const Scan fraction = scan_digits(cursor); fraction != Scan::done) return fraction;
  }
  if (*cursor.at == 'e' || *cursor.at == 'E') {
    ++cursor.at;
    if (*cursor.at == '+' || *cursor.at == '-') ++cursor.at;
    return scan_digits(cursor);
  }
  return Scan::done;
}

Scan skip_object(Cursor& cursor, int depth) {
  bool more = false;
  Scan step = scan_object_start(cursor, more);
  while (step == Scan::done && more) {
    if (*cursor.at != '"') return cursor.unexpected("a member name is missing in an object");
    Scalar key;
    step = scan_string(cursor, key);
    if (step != Scan::done) return step;
    skip_space(cursor);
    step = expect(cursor, ':', "':' is missing after a member name");
    if (step != Scan::done) return step;
    skip_space(cursor);
    step = skip_value(cursor, depth);
    if (step == Scan::done) step = scan_object_separator(cursor, more);
  }
  return step;
}

Scan skip_array(Cursor& cursor, int depth) {
  ++cursor.at;
  skip_space(cursor);
  if (*cursor.at == ']') {
    ++cursor.at;
    return Scan::done;
  }
  for (;;) {
    const Scan step = skip_value(cursor, depth);
    if (step != Scan::done) return step;
    skip_space(cursor);
    const char separator = *cursor.at;
    if (separator != ',' && separator != ']') return cursor.unexpected("',' or ']' is missing in a list");
    ++cursor.at;
    if (separator == ']') return Scan::done;
    skip_space(cursor);
  }
}

}  // namespace

Scan scan_string(Cursor& cursor, Scalar& string) {
  const char* const begin = ++cursor.at;
  string.kind = Scalar::Kind::string;
  for (;;) {
    cursor.at = find_quote_or_backslash(cursor.at, cursor.end);
    if (cursor.at >= cursor.end) return Scan::incomplete;
    if (*cursor.at == '"') break;
    string.kind = Scalar::Kind::escaped_string;
    const Scan step = scan_escape(cursor);
    if (step != Scan::done) return step;
  }
  string.text = std::string_view(begin, static_cast<size_t>(cursor.at - begin));
  ++cursor.at;
  return Scan::done;
}

Scan scan_scalar(Cursor& cursor, int depth, Scalar& scalar) {
  const char first = *cursor.at;
  if (first == '"') return scan_string(cursor, scalar);
  scalar = Scalar{};
  const bool word_number = first == 'N' || first == 'I';
  if (!word_number && first != '-' && !is_digit(first)) return skip_value(cursor, depth);
  const char* const begin = cursor.at;
  const Scan step = word_number ? scan_literal(cursor, first == 'N' ? "NaN" : "Infinity") : scan_number(cursor);
  scalar.kind = Scalar::Kind::number;
  scalar.text = std::string_view(begin, static_cast<size_t>(cursor.at - begin));
  return step;
}

Scan skip_value(Cursor& cursor, int depth) {
  Scalar ignored;
  switch (*cursor.at) {
    case '"': return scan_string(cursor, ignored);
    case '{':
    case '[':
      if (depth >= kMaximumDepth) return cursor.fail("nested more than 256 levels deep");
      return *cursor.at == '{' ? skip_object(cursor, depth + 1) : skip_array(cursor, depth + 1);
    case 't': return scan_literal(cursor, "true");
    case 'f': return scan_literal(cursor, "false");
    case 'n': return scan_literal(cursor, "null");
    case 'N': return scan_literal(cursor, "NaN");
    case 'I': return scan_literal(cursor, "Infinity");
    default:
      if (*cursor.at == '-' || is_digit(*cursor.at)) return scan_number(cursor);
      return cursor.unexpected("a value is missing");
  }
}

Scan scan_key(Cursor& cursor, std::string& scratch, std::string_view& key) {
  if (*cursor.at != '"') return cursor.unexpected("a member name is missing in an object");
  Scalar name;
  Scan step = scan_string(cursor, name);
  if (step != Scan::done) return step;
  key = name.text;
  if (name.kind == Scalar::Kind::escaped_string) {
    scratch.clear();
    append_unescaped(name.text, scratch);
    key = scratch;
  }
  skip_space(cursor);
  step = expect(cursor, ':', "':' is missing after a member name");
  skip_space(cursor);
  return step;
}

Scan scan_object_start(Cursor& cursor, bool& more) {
  ++cursor.at;
  skip_space(cursor);
  more = *cursor.at != '}';
  if (!more) ++cursor.at;
  return Scan::done;
}

Scan scan_object_separator(Cursor& cursor, bool& more) {
  skip_space(cursor);
  const char separator = *cursor.at;
  if (separator != ',' && separator != '}') return cursor.unexpected("',' or '}' is missing in an object");
  ++cursor.at;
  more = separator == ',';
  if (more) skip_space(cursor);
  return Scan::done;
}

}  // namespace wavescope::chrome_json
