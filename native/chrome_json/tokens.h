// JSON tokens in a contiguous piece of input that may end anywhere.
//
// Accepted beyond the standard: NaN, Infinity and -Infinity, and raw control characters inside strings.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace wavescope::chrome_json {

// Nesting beyond this is refused.
constexpr int kMaximumDepth = 256;
// So many zero bytes must follow a Cursor's `end`.
constexpr int kPadding = 32;

enum class Scan : uint8_t {
  done,
  incomplete,  // the input ended inside the token
  malformed,   // Cursor::at is the offending byte, Cursor::reason says why
};

struct Cursor {
  const char* at;
  const char* end;
  const char* reason = "";

  Scan fail(const char* why) {
    reason = why;
    return Scan::malformed;
  }
  // The right failure for finding neither what was expected nor, perhaps, anything.
  Scan unexpected(const char* why) { return at >= end ? Scan::incomplete : fail(why); }
};

// A string, or a number with its spelling; everything else is `other`.
struct Scalar {
  enum class Kind : uint8_t { other, string, escaped_string, number };
  Kind kind = Kind::other;
  std::string_view text;  // without the quotes, escapes not yet resolved

  bool is_string() const { return kind == Kind::string || kind == Kind::escaped_string; }
};

inline void skip_space(Cursor& cursor) {
  // The zero padding ends this loop.
  while (*cursor.at == ' ' || *cursor.at == '\n' || *cursor.at == '\r' || *cursor.at == '\t') ++cursor.at;
}

inline Scan expect(Cursor& cursor, char character, const char* why) {
  if (*cursor.at != character || cursor.at >= cursor.end) return cursor.unexpected(why);
  ++cursor.at;
  return Scan::done;
}

// Reads the string whose opening quote is at the cursor.
Scan scan_string(Cursor& cursor, Scalar& string);
// Reads a string or number; passes over any other value as Kind::other. `depth` counts the containers around it.
Scan scan_scalar(Cursor& cursor, int depth, Scalar& scalar);
// Passes over any value.
Scan skip_value(Cursor& cursor, int depth);
// Reads `"key" :` and the space after it. `scratch` holds keys that are spelled with escapes.
Scan scan_key(Cursor& cursor, std::string& scratch, std::string_view& key);
// After a member of an object: passes over `,` (more is true) or the closing brace (more is false).
Scan scan_object_separator(Cursor& cursor, bool& more);
// Passes over the opening brace; more is false for an empty object, which it then has passed whole.
Scan scan_object_start(Cursor& cursor, bool& more);

}  // namespace wavescope::chrome_json
