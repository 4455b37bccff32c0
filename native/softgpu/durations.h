// How long kernels take: a constant, or drawn from a distribution, by name.
#ifndef WAVESCOPE_SOFTGPU_DURATIONS_H
#define WAVESCOPE_SOFTGPU_DURATIONS_H

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "softgpu/text_pattern.h"

namespace softgpu {

class Duration {
 public:
  static constexpr uint64_t longest_ns = 3'600'000'000'000;

  // "5000", "uniform:1000:9000", "exponential:5000", "lognormal:5000:0.4" (median and sigma).
  static std::optional<Duration> parse(std::string_view text);
  static Duration constant(uint64_t nanoseconds);

  // A value of the distribution; equal random bits give equal values.
  uint64_t draw(uint64_t random_bits) const;

 private:
  enum class Shape { constant, uniform, exponential, lognormal };
  Shape shape_ = Shape::constant;
  double first_ = 0;
  double second_ = 0;
};

// Bits that depend on every bit of the input, for drawing without any state.
uint64_t scrambled(uint64_t bits);

// A duration for all kernels, and others for those whose name matches; the first match counts.
class DurationTable {
 public:
  explicit DurationTable(Duration fallback) : fallback_(fallback) {}

  // Lines "pattern,duration"; what is wrong with the text, or nothing.
  std::string add_lines(std::string_view text);
  const Duration& of(std::string_view kernel_name) const;

 private:
  Duration fallback_;
  std::vector<std::pair<TextPattern, Duration>> rows_;
};

}  // namespace softgpu

#endif
