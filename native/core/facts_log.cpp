#include "core/facts_log.h"

#include <cstddef>
#include <cstdio>

namespace wavescope {
namespace {

constexpr std::string_view kReplacement = "\xef\xbf\xbd";

bool continues(std::string_view text, std::size_t at) {
  return at < text.size() && (static_cast<unsigned char>(text[at]) & 0xc0u) == 0x80u;
}

// Bytes of the UTF-8 character at `at`, or 0 when there is none.
std::size_t character_bytes(std::string_view text, std::size_t at) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[at + i]); };
  if (byte(0) < 0x80) return 1;
  if (byte(0) >= 0xc2 && byte(0) < 0xe0 && continues(text, at + 1)) return 2;
  if (byte(0) >= 0xe0 && byte(0) < 0xf0 && continues(text, at + 1) && continues(text, at + 2)) {
    const bool overlong = byte(0) == 0xe0 && byte(1) < 0xa0;
    const bool surrogate = byte(0) == 0xed && byte(1) >= 0xa0;
    return overlong || surrogate ? 0 : 3;
  }
  if (byte(0) >= 0xf0 && byte(0) < 0xf5 && continues(text, at + 1) && continues(text, at + 2) && continues(text, at + 3)) {
    const bool overlong = byte(0) == 0xf0 && byte(1) < 0x90;
    const bool beyond = byte(0) == 0xf4 && byte(1) >= 0x90;
    return overlong || beyond ? 0 : 4;
  }
  return 0;
}

void append_escaped(std::string& out, char character) {
  char escaped[8];
  switch (character) {
    case '"': out += "\\\""; return;
    case '\\': out += "\\\\"; return;
    case '\n': out += "\\n"; return;
    default: break;
  }
  if (static_cast<unsigned char>(character) >= 0x20 && character != 0x7f) {
    out += character;
    return;
  }
  std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(static_cast<unsigned char>(character)));
  out += escaped;
}

}  // namespace

std::string json_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t bytes = character_bytes(text, at);
    if (bytes == 1) append_escaped(out, text[at]);
    else out += bytes == 0 ? kReplacement : text.substr(at, bytes);
    at += bytes == 0 ? 1 : bytes;
  }
  return out + "\"";
}

Fact::Fact(std::string_view kind) : text_("{\"fact\":" + json_string(kind)) {}

void Fact::name(std::string_view member) { text_ += "," + json_string(member) + ":"; }

Fact& Fact::add(std::string_view member, std::string_view text) {
  name(member);
  text_ += json_string(text);
  return *this;
}

Fact& Fact::add(std::string_view member, uint64_t number) {
  name(member);
  text_ += std::to_string(number);
  return *this;
}

Fact& Fact::add(std::string_view member, int number) {
  name(member);
  text_ += std::to_string(number);
  return *this;
}

Fact& Fact::add(std::string_view member, const std::vector<std::string>& texts) {
  name(member);
  text_ += "[";
  for (const std::string& text : texts) text_ += (&text == &texts.front() ? "" : ",") + json_string(text);
  text_ += "]";
  return *this;
}

FactsLog::FactsLog(const std::string& path, ByteBudget& budget) : log_(path, budget, WhenCut::kGoesOn) {}

bool FactsLog::append(const Fact& fact) {
  const std::string line = fact.line();
  const std::lock_guard<std::mutex> lock(mutex_);
  return log_.append(line.data(), line.size());
}

bool FactsLog::note(std::string_view text, uint64_t count) {
  return append(Fact("note").add("text", text).add("count", count));
}

}  // namespace wavescope
