#include "core/environment.h"

#include <cerrno>
#include <cstdlib>
#include <cstring>

namespace wavescope {
namespace {

uint64_t number_or(const char* text, uint64_t fallback) {
  if (text == nullptr || *text < '0' || *text > '9') return fallback;
  char* end = nullptr;
  errno = 0;
  const unsigned long long value = std::strtoull(text, &end, 10);
  return errno == 0 && *end == '\0' ? value : fallback;
}

bool is_on(const char* text) { return text != nullptr && *text != '\0' && std::strcmp(text, "0") != 0; }

Mode mode_or(const char* text, Mode fallback) {
  if (text == nullptr) return fallback;
  for (const Mode mode : {Mode::kLite, Mode::kStandard, Mode::kFull, Mode::kHip}) {
    if (std::strcmp(text, name_of(mode)) == 0) return mode;
  }
  return fallback;
}

uint64_t milliseconds_to_ns(uint64_t milliseconds, uint64_t fallback) {
  return milliseconds > UINT64_MAX / 1000000u ? fallback : milliseconds * 1000000u;
}

// A time that cannot be 0.
uint64_t period_or(const char* milliseconds, uint64_t fallback_ns) {
  const uint64_t read_ns = milliseconds_to_ns(number_or(milliseconds, 0), 0);
  return read_ns == 0 ? fallback_ns : read_ns;
}

}  // namespace

const char* name_of(Mode mode) {
  switch (mode) {
    case Mode::kLite: return "lite";
    case Mode::kFull: return "full";
    case Mode::kHip: return "hip";
    case Mode::kStandard: break;
  }
  return "standard";
}

Settings read_settings(Lookup lookup) {
  Settings read;
  const char* output = lookup("WAVESCOPE_OUTPUT");
  if (output != nullptr) read.output = output;
  read.mode = mode_or(lookup("WAVESCOPE_MODE"), read.mode);
  read.start_paused = is_on(lookup("WAVESCOPE_START_PAUSED"));
  read.max_bytes = number_or(lookup("WAVESCOPE_MAX_BYTES"), read.max_bytes);
  const char* keep = lookup("WAVESCOPE_KEEP");
  if (keep != nullptr && std::strcmp(keep, "newest") == 0) read.keep = Keep::kNewest;
  read.delay_ns = milliseconds_to_ns(number_or(lookup("WAVESCOPE_DELAY_MS"), 0), 0);
  read.duration_ns = milliseconds_to_ns(number_or(lookup("WAVESCOPE_DURATION_MS"), UINT64_MAX), UINT64_MAX);
  const char* signals = lookup("WAVESCOPE_SIGNALS");
  read.keeps_signals = signals == nullptr || std::strcmp(signals, "runtime") != 0;
  const char* interception = lookup("WAVESCOPE_INTERCEPTION");
  if (interception != nullptr && std::strcmp(interception, "own") == 0) read.interception = Interception::kOwn;
  read.verbose = is_on(lookup("WAVESCOPE_VERBOSE"));
  const char* cupti = lookup("WAVESCOPE_CUPTI");
  if (cupti != nullptr) read.cupti = cupti;
  const uint64_t usual_slice_ms = read.slice_ns / 1000000u;
  read.slice_ns = milliseconds_to_ns(number_or(lookup("WAVESCOPE_SLICE_MS"), usual_slice_ms), read.slice_ns);
  read.slice_period_ns = period_or(lookup("WAVESCOPE_SLICE_PERIOD_MS"), read.slice_period_ns);
  read.flush_ns = period_or(lookup("WAVESCOPE_FLUSH_MS"), read.flush_ns);
  return read;
}

const Settings& settings() {
  static const Settings& frozen =
      *new Settings(read_settings([](const char* name) -> const char* { return std::getenv(name); }));
  return frozen;
}

}  // namespace wavescope
