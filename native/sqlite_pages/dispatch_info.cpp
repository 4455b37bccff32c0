// Parses the text that rocm-trace-lite keeps in completionSignal.
#include <cstdint>
#include <cstring>

#include "sqlite_pages/sqlite_pages.h"

namespace {

constexpr int kFields = 7;
constexpr int64_t kAbsent = -1;

struct Span {
  const uint8_t* at;
  const uint8_t* end;

  bool skip(const char* word) {
    const size_t count = std::strlen(word);
    if (static_cast<size_t>(end - at) < count || std::memcmp(at, word, count) != 0) return false;
    at += count;
    return true;
  }
};

int hex_digit(uint8_t byte) {
  if (byte >= '0' && byte <= '9') return byte - '0';
  const uint8_t lower = static_cast<uint8_t>(byte | 0x20);
  return lower >= 'a' && lower <= 'f' ? lower - 'a' + 10 : -1;
}

// The address as the int64 with the same bits, or kAbsent when there are no digits or more than 64 bits.
int64_t parse_address(Span& text) {
  uint64_t value = 0;
  const uint8_t* first = text.at;
  bool fits = true;
  for (; text.at < text.end && hex_digit(*text.at) >= 0; ++text.at) {
    fits = fits && value >> 60 == 0;
    value = value << 4 | static_cast<uint64_t>(hex_digit(*text.at));
  }
  return fits && text.at > first ? static_cast<int64_t>(value) : kAbsent;
}

int64_t parse_count(Span& text) {
  int64_t value = 0;
  const uint8_t* first = text.at;
  bool fits = true;
  for (; text.at < text.end && *text.at >= '0' && *text.at <= '9'; ++text.at) {
    const int64_t digit = *text.at - '0';
    fits = fits && value <= (INT64_MAX - digit) / 10;
    if (fits) value = value * 10 + digit;
  }
  return fits && text.at > first ? value : kAbsent;
}

void parse_triple(Span& text, int64_t* fields) {
  for (int index = 0; index < 3; ++index) fields[index] = kAbsent;
  for (int index = 0; index < 3; ++index) {
    fields[index] = parse_count(text);
    if (!text.skip(",")) return;
  }
}

void parse(Span text, int64_t* fields) {
  for (int index = 0; index < kFields; ++index) fields[index] = kAbsent;
  while (text.at < text.end) {
    if (text.skip("hwq=0x")) {
      fields[0] = parse_address(text);
    } else if (text.skip("wg=")) {
      parse_triple(text, fields + 1);
    } else if (text.skip("grid=")) {
      parse_triple(text, fields + 4);
    }
    while (text.at < text.end && *text.at != ' ') ++text.at;
    while (text.at < text.end && *text.at == ' ') ++text.at;
  }
}

}  // namespace

extern "C" int wavescope_parse_dispatch_info(const uint8_t* text, int64_t text_bytes, const int64_t* offsets, int64_t count,
                                             int64_t* rows) {
  if (count < 0 || text_bytes < 0 || offsets == nullptr) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  if (count > 0 && (rows == nullptr || (text == nullptr && text_bytes > 0))) return WAVESCOPE_PAGES_BAD_ARGUMENT;
  for (int64_t index = 0; index < count; ++index) {
    const int64_t begin = offsets[index];
    const int64_t end = offsets[index + 1];
    if (begin < 0 || end < begin || end > text_bytes) return WAVESCOPE_PAGES_BAD_ARGUMENT;
    parse({text + begin, text + end}, rows + index * kFields);
  }
  return WAVESCOPE_PAGES_OK;
}
