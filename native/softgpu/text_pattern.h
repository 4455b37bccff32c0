// Choosing kernels by name: part of the name, or a pattern with * and ?.
#ifndef WAVESCOPE_SOFTGPU_TEXT_PATTERN_H
#define WAVESCOPE_SOFTGPU_TEXT_PATTERN_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace softgpu {

class TextPattern {
 public:
  TextPattern() = default;
  explicit TextPattern(std::string text);
  bool matches(std::string_view name) const;

 private:
  std::string text_;
  bool has_wildcards_ = false;
};

std::vector<std::string_view> split(std::string_view text, char separator);
std::string_view trimmed(std::string_view text);
std::optional<uint64_t> whole_number(std::string_view text);
std::optional<int64_t> signed_number(std::string_view text);
std::optional<double> decimal_number(std::string_view text);
uint64_t text_hash(std::string_view text);

}  // namespace softgpu

#endif
