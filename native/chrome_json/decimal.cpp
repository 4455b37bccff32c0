#include "chrome_json/decimal.h"

#include <cstddef>
#include <limits>

namespace wavescope::chrome_json {
namespace {

constexpr int64_t kExponentLimit = 1'000'000'000'000;

constexpr size_t kMostIdDigits = 15;
constexpr int64_t kHexadecimalIds = int64_t{1} << 62;

bool is_digit(char character) { return character >= '0' && character <= '9'; }

// Adds a digit to the negative `total`; negative because the negative range is the larger one.
bool append_digit(int64_t& total, int digit) {
  return !__builtin_mul_overflow(total, 10, &total) && !__builtin_sub_overflow(total, digit, &total);
}

// Reads an optional exponent that must end the text; clamps it to a range in which sums cannot overflow.
bool parse_exponent(std::string_view text, size_t position, int64_t& exponent) {
  exponent = 0;
  if (position == text.size()) return true;
  if (text[position] != 'e' && text[position] != 'E') return false;
  ++position;
  bool negative = false;
  if (position < text.size() && (text[position] == '+' || text[position] == '-')) negative = text[position++] == '-';
  if (position == text.size()) return false;
  for (; position < text.size(); ++position) {
    if (!is_digit(text[position])) return false;
    if (exponent < kExponentLimit) exponent = exponent * 10 + (text[position] - '0');
  }
  if (negative) exponent = -exponent;
  return true;
}

bool parse_any(std::string_view text, bool negative, int scale, int64_t& value) {
  size_t digits_end = 0;
  while (digits_end < text.size() && is_digit(text[digits_end])) ++digits_end;
  const size_t whole_digits = digits_end;
  size_t fraction_digits = 0;
  if (digits_end < text.size() && text[digits_end] == '.') {
    ++digits_end;
    while (digits_end < text.size() && is_digit(text[digits_end])) ++digits_end, ++fraction_digits;
  }
  int64_t exponent = 0;
  if (whole_digits + fraction_digits == 0 || !parse_exponent(text, digits_end, exponent)) return false;

  // Digits before `kept` make the integer; the first one after it decides the rounding.
  const int64_t kept = static_cast<int64_t>(whole_digits) + exponent + scale;
  int64_t total = 0;
  int64_t position = 0;
  for (size_t index = 0; index < digits_end; ++index) {
    if (text[index] == '.') continue;
    const int digit = text[index] - '0';
    if (position < kept) {
      if (!append_digit(total, digit)) return false;
    } else if (position == kept) {
      if (digit >= 5 && __builtin_sub_overflow(total, 1, &total)) return false;
      break;
    } else {
      break;
    }
    ++position;
  }
  for (; total != 0 && position < kept; ++position) {
    if (!append_digit(total, 0)) return false;
  }
  if (!negative && total == std::numeric_limits<int64_t>::min()) return false;
  value = negative ? total : -total;
  return true;
}

}  // namespace

bool parse_decimal(std::string_view text, int scale, int64_t& value) {
  const bool negative = !text.empty() && text.front() == '-';
  if (negative) text.remove_prefix(1);
  // Most times look like 3853558627779.244: few enough digits that nothing can overflow.
  if (text.size() <= 17 && scale <= 3) {
    int64_t total = 0;
    size_t index = 0;
    while (index < text.size() && is_digit(text[index])) total = total * 10 + (text[index++] - '0');
    size_t fraction_digits = 0;
    if (index > 0 && index < text.size() && text[index] == '.' && scale == 3) {
      ++index;
      while (fraction_digits < 3 && index < text.size() && is_digit(text[index])) {
        total = total * 10 + (text[index++] - '0');
        ++fraction_digits;
      }
    }
    constexpr int64_t powers[] = {1, 10, 100, 1000};
    const size_t missing_digits = static_cast<size_t>(scale) - fraction_digits;
    if (index > 0 && index == text.size() && !__builtin_mul_overflow(total, powers[missing_digits], &total)) {
      value = negative ? -total : total;
      return true;
    }
  }
  return parse_any(text, negative, scale, value);
}

bool spelled_number(std::string_view text, int64_t& value) {
  const bool hexadecimal = text.substr(0, 2) == "0x";
  const std::string_view digits = hexadecimal ? text.substr(2) : text;
  const std::string_view allowed = hexadecimal ? "0123456789abcdef" : "0123456789";
  if (digits.empty() || digits.size() > kMostIdDigits || (digits[0] == '0' && digits.size() > 1)) return false;
  value = 0;
  for (const char character : digits) {
    const size_t digit = allowed.find(character);
    if (digit == std::string_view::npos) return false;
    value = value * static_cast<int64_t>(allowed.size()) + static_cast<int64_t>(digit);
  }
  if (hexadecimal) value += kHexadecimalIds;
  return true;
}

}  // namespace wavescope::chrome_json
