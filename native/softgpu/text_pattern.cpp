#include "softgpu/text_pattern.h"

#include <charconv>
#include <cmath>
#include <utility>

namespace softgpu {

TextPattern::TextPattern(std::string text)
    : text_(std::move(text)), has_wildcards_(text_.find_first_of("*?") != std::string::npos) {}

bool TextPattern::matches(std::string_view name) const {
  if (!has_wildcards_) return name.find(text_) != std::string_view::npos;
  size_t pattern = 0;
  size_t at = 0;
  size_t star = std::string::npos;
  size_t star_at = 0;
  while (at < name.size()) {
    if (pattern < text_.size() && (text_[pattern] == '?' || text_[pattern] == name[at]) && text_[pattern] != '*') {
      ++pattern;
      ++at;
    } else if (pattern < text_.size() && text_[pattern] == '*') {
      star = pattern++;
      star_at = at;
    } else if (star != std::string::npos) {
      pattern = star + 1;
      at = ++star_at;
    } else {
      return false;
    }
  }
  while (pattern < text_.size() && text_[pattern] == '*') ++pattern;
  return pattern == text_.size();
}

std::vector<std::string_view> split(std::string_view text, char separator) {
  std::vector<std::string_view> parts;
  for (;;) {
    const size_t end = text.find(separator);
    parts.push_back(text.substr(0, end));
    if (end == std::string_view::npos) return parts;
    text.remove_prefix(end + 1);
  }
}

std::string_view trimmed(std::string_view text) {
  const char* blanks = " \t\r\n";
  const size_t first = text.find_first_not_of(blanks);
  if (first == std::string_view::npos) return {};
  return text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

namespace {

template <class Number>
std::optional<Number> parsed(std::string_view text) {
  Number number{};
  const char* end = text.data() + text.size();
  const auto result = std::from_chars(text.data(), end, number);
  if (result.ec != std::errc{} || result.ptr != end) return std::nullopt;
  return number;
}

}  // namespace

std::optional<uint64_t> whole_number(std::string_view text) { return parsed<uint64_t>(text); }

std::optional<int64_t> signed_number(std::string_view text) {
  if (text.size() > 1 && text[0] == '+') text.remove_prefix(1);
  return parsed<int64_t>(text);
}

std::optional<double> decimal_number(std::string_view text) {
  const auto number = parsed<double>(text);
  return number && std::isfinite(*number) ? number : std::nullopt;
}

uint64_t text_hash(std::string_view text) {
  uint64_t hash = 0xcbf29ce484222325U;
  for (const char letter : text) hash = (hash ^ static_cast<unsigned char>(letter)) * 0x100000001b3U;
  return hash;
}

}  // namespace softgpu
