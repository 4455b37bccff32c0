#include "chrome_json/text.h"

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace wavescope::chrome_json {
namespace {

constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
constexpr std::string_view kReplacementEscape = "\\ufffd";

bool is_continuation(char character) { return (static_cast<unsigned char>(character) & 0xC0U) == 0x80U; }

// The length of the valid sequence that starts at `position`, 0 when there is none.
size_t sequence_length(std::string_view text, size_t position) {
  const auto byte = [&](size_t offset) { return static_cast<unsigned char>(text[position + offset]); };
  const unsigned first = byte(0);
  const size_t left = text.size() - position;
  if (first < 0x80) return 1;
  if (first < 0xC2 || first > 0xF4) return 0;
  const size_t length = first < 0xE0 ? 2 : first < 0xF0 ? 3 : 4;
  if (left < length) return 0;
  for (size_t offset = 1; offset < length; ++offset) {
    if (!is_continuation(text[position + offset])) return 0;
  }
  const unsigned second = byte(1);
  const bool overlong = (first == 0xE0 && second < 0xA0) || (first == 0xF0 && second < 0x90);
  const bool outside = (first == 0xED && second > 0x9F) || (first == 0xF4 && second > 0x8F);
  return overlong || outside ? 0 : length;
}

// The first position from `position` on whose byte is not ASCII.
size_t skip_ascii(std::string_view text, size_t position) {
  while (position + 8 <= text.size()) {
    uint64_t word;
    std::memcpy(&word, text.data() + position, sizeof word);
    if ((word & 0x8080808080808080U) != 0) break;
    position += 8;
  }
  while (position < text.size() && static_cast<unsigned char>(text[position]) < 0x80) ++position;
  return position;
}

unsigned four_hexadecimal_digits(const char* digits) {
  unsigned value = 0;
  for (int index = 0; index < 4; ++index) value = value << 4 | static_cast<unsigned>(hexadecimal_value(digits[index]));
  return value;
}

void append_utf8(unsigned code_point, std::string& output) {
  const auto put = [&](unsigned byte) { output.push_back(static_cast<char>(byte)); };
  if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0U | code_point >> 6);
    put(0x80U | (code_point & 0x3FU));
  } else if (code_point < 0x10000) {
    put(0xE0U | code_point >> 12);
    put(0x80U | (code_point >> 6 & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  } else {
    put(0xF0U | code_point >> 18);
    put(0x80U | (code_point >> 12 & 0x3FU));
    put(0x80U | (code_point >> 6 & 0x3FU));
    put(0x80U | (code_point & 0x3FU));
  }
}

// The \u escapes at `position`: how many bytes they take (6, or 12 for a surrogate pair) and what they stand for, 0xFFFD
// with lone set for half a pair.
struct UnicodeEscape {
  size_t length;
  unsigned code_point;
  bool lone;
};

UnicodeEscape read_unicode_escape(std::string_view text, size_t position) {
  const unsigned first = four_hexadecimal_digits(text.data() + position + 2);
  if (first < 0xD800 || first > 0xDFFF) return {6, first, false};
  if (first < 0xDC00 && position + 12 <= text.size() && text[position + 6] == '\\' && text[position + 7] == 'u') {
    const unsigned second = four_hexadecimal_digits(text.data() + position + 8);
    if (second >= 0xDC00 && second <= 0xDFFF) {
      return {12, 0x10000U + ((first - 0xD800U) << 10) + (second - 0xDC00U), false};
    }
  }
  return {6, 0xFFFD, true};
}

char simple_escape(char letter) {
  switch (letter) {
    case 'b': return '\b';
    case 'f': return '\f';
    case 'n': return '\n';
    case 'r': return '\r';
    case 't': return '\t';
    default: return letter;
  }
}

void append_control_escape(char character, std::string& output) {
  constexpr char digits[] = "0123456789abcdef";
  const unsigned value = static_cast<unsigned char>(character);
  output.append("\\u00");
  output.push_back(digits[value >> 4]);
  output.push_back(digits[value & 0xFU]);
}

// Appends the inside of a JSON string, still escaped, as a strict reader accepts it.
bool append_strict_string(std::string_view inside, std::string& output) {
  bool replaced = false;
  size_t position = 0;
  while (position < inside.size()) {
    const char character = inside[position];
    if (character == '\\') {
      size_t length = 2;
      bool lone = false;
      if (inside[position + 1] == 'u') {
        const UnicodeEscape escape = read_unicode_escape(inside, position);
        length = escape.length;
        lone = escape.lone;
      }
      output.append(lone ? kReplacementEscape : inside.substr(position, length));
      replaced |= lone;
      position += length;
    } else if (static_cast<unsigned char>(character) < 0x20) {
      append_control_escape(character, output);
      ++position;
    } else {
      const size_t length = sequence_length(inside, position);
      output.append(length == 0 ? kReplacement : inside.substr(position, length));
      replaced |= length == 0;
      position += length == 0 ? 1 : length;
    }
  }
  return replaced;
}

// Whether a string can be copied as it is: printable ASCII, at most simple escapes.
bool is_plain(std::string_view inside) {
  constexpr uint64_t ones = 0x0101010101010101U;
  constexpr uint64_t high = 0x8080808080808080U;
  size_t position = 0;
  for (; position + 8 <= inside.size(); position += 8) {
    uint64_t word;
    std::memcpy(&word, inside.data() + position, sizeof word);
    const uint64_t backslash = word ^ ones * '\\';
    const uint64_t suspicious = (word - ones * 0x20) | word | ((backslash - ones) & ~backslash);
    if ((suspicious & high) != 0) return false;
  }
  for (; position < inside.size(); ++position) {
    const unsigned char character = static_cast<unsigned char>(inside[position]);
    if (character < 0x20 || character >= 0x80 || character == '\\') return false;
  }
  return true;
}

// The index of the quote that ends the string whose inside starts at `position`.
size_t string_end(std::string_view value, size_t position) {
  for (;;) {
    const void* quote = std::memchr(value.data() + position, '"', value.size() - position);
    const size_t end = static_cast<size_t>(static_cast<const char*>(quote) - value.data());
    size_t backslashes = 0;
    while (end - backslashes > position && value[end - backslashes - 1] == '\\') ++backslashes;
    if (backslashes % 2 == 0) return end;
    position = end + 1;
  }
}

}  // namespace

int hexadecimal_value(char character) {
  if (character >= '0' && character <= '9') return character - '0';
  if (character >= 'a' && character <= 'f') return character - 'a' + 10;
  if (character >= 'A' && character <= 'F') return character - 'A' + 10;
  return -1;
}

bool is_valid_utf8(std::string_view text) {
  for (size_t position = skip_ascii(text, 0); position < text.size(); position = skip_ascii(text, position)) {
    const size_t length = sequence_length(text, position);
    if (length == 0) return false;
    position += length;
  }
  return true;
}

bool append_valid_utf8(std::string_view text, std::string& output) {
  bool replaced = false;
  size_t position = 0;
  while (position < text.size()) {
    const size_t ascii_end = skip_ascii(text, position);
    output.append(text.substr(position, ascii_end - position));
    position = ascii_end;
    if (position == text.size()) break;
    const size_t length = sequence_length(text, position);
    output.append(length == 0 ? kReplacement : text.substr(position, length));
    replaced |= length == 0;
    position += length == 0 ? 1 : length;
  }
  return replaced;
}

bool append_unescaped(std::string_view text, std::string& output) {
  bool replaced = false;
  size_t position = 0;
  while (position < text.size()) {
    const size_t backslash = text.find('\\', position);
    replaced |= append_valid_utf8(text.substr(position, backslash - position), output);
    if (backslash == std::string_view::npos) break;
    position = backslash;
    if (text[position + 1] == 'u') {
      const UnicodeEscape escape = read_unicode_escape(text, position);
      append_utf8(escape.code_point, output);
      replaced |= escape.lone;
      position += escape.length;
    } else {
      output.push_back(simple_escape(text[position + 1]));
      position += 2;
    }
  }
  return replaced;
}

bool append_compact_json(std::string_view value, std::string& output) {
  bool replaced = false;
  size_t position = 0;
  while (position < value.size()) {
    const char character = value[position];
    if (character == '"') {
      const size_t end = string_end(value, position + 1);
      const std::string_view inside = value.substr(position + 1, end - position - 1);
      output.push_back('"');
      if (is_plain(inside)) {
        output.append(inside);
      } else {
        replaced |= append_strict_string(inside, output);
      }
      output.push_back('"');
      position = end + 1;
    } else if (character == 'N' || character == 'I' || (character == '-' && value[position + 1] == 'I')) {
      const size_t length = character == 'N' ? 3 : character == 'I' ? 8 : 9;
      output.push_back('"');
      output.append(value.substr(position, length));
      output.push_back('"');
      position += length;
    } else {
      if (static_cast<unsigned char>(character) > ' ') output.push_back(character);
      ++position;
    }
  }
  return replaced;
}

}  // namespace wavescope::chrome_json
