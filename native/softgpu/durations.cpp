#include "softgpu/durations.h"

#include <algorithm>
#include <cmath>

namespace softgpu {

namespace {

// Uniform in (0, 1): never 0, whose logarithm is infinite.
double fraction(uint64_t bits) { return (static_cast<double>(bits >> 11) + 0.5) / 9007199254740992.0; }

double standard_normal(uint64_t bits) {
  constexpr double two_pi = 6.283185307179586;
  return std::sqrt(-2.0 * std::log(fraction(scrambled(bits)))) * std::cos(two_pi * fraction(scrambled(bits + 1)));
}

}  // namespace

uint64_t scrambled(uint64_t bits) {
  bits += 0x9e3779b97f4a7c15U;
  bits = (bits ^ (bits >> 30)) * 0xbf58476d1ce4e5b9U;
  bits = (bits ^ (bits >> 27)) * 0x94d049bb133111ebU;
  return bits ^ (bits >> 31);
}

Duration Duration::constant(uint64_t nanoseconds) {
  Duration duration;
  duration.first_ = static_cast<double>(std::min(nanoseconds, longest_ns));
  return duration;
}

std::optional<Duration> Duration::parse(std::string_view text) {
  if (const auto nanoseconds = whole_number(text)) {
    if (*nanoseconds > longest_ns) return std::nullopt;
    return constant(*nanoseconds);
  }
  const auto parts = split(text, ':');
  Duration duration;
  if (parts[0] == "uniform" && parts.size() == 3) {
    duration.shape_ = Shape::uniform;
  } else if (parts[0] == "exponential" && parts.size() == 2) {
    duration.shape_ = Shape::exponential;
  } else if (parts[0] == "lognormal" && parts.size() == 3) {
    duration.shape_ = Shape::lognormal;
  } else {
    return std::nullopt;
  }
  const auto first = decimal_number(parts[1]);
  const auto second = parts.size() == 3 ? decimal_number(parts[2]) : std::optional<double>(0);
  const auto longest = static_cast<double>(longest_ns);
  if (!first || !second || *first < 0 || *second < 0 || *first > longest || *second > longest) {
    return std::nullopt;
  }
  if (duration.shape_ == Shape::uniform && *second < *first) return std::nullopt;
  duration.first_ = *first;
  duration.second_ = *second;
  return duration;
}

uint64_t Duration::draw(uint64_t random_bits) const {
  double value = first_;
  switch (shape_) {
    case Shape::constant: break;
    case Shape::uniform: value = first_ + (second_ - first_) * fraction(scrambled(random_bits)); break;
    case Shape::exponential: value = -first_ * std::log(fraction(scrambled(random_bits))); break;
    case Shape::lognormal: value = first_ * std::exp(second_ * standard_normal(random_bits)); break;
  }
  return static_cast<uint64_t>(std::min(std::round(value), static_cast<double>(longest_ns)));
}

std::string DurationTable::add_lines(std::string_view text) {
  int number = 0;
  for (const std::string_view raw : split(text, '\n')) {
    ++number;
    const std::string_view line = trimmed(raw);
    if (line.empty() || line[0] == '#' || line == "kernel,duration") continue;
    const size_t comma = line.rfind(',');
    const auto duration = comma == std::string_view::npos ? std::nullopt : Duration::parse(trimmed(line.substr(comma + 1)));
    if (!duration) return "line " + std::to_string(number) + ": expected PATTERN,DURATION";
    rows_.emplace_back(TextPattern(std::string(trimmed(line.substr(0, comma)))), *duration);
  }
  return {};
}

const Duration& DurationTable::of(std::string_view kernel_name) const {
  for (const auto& [pattern, duration] : rows_) {
    if (pattern.matches(kernel_name)) return duration;
  }
  return fallback_;
}

}  // namespace softgpu
