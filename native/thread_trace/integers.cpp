#include "thread_trace/integers.h"

#include <limits>

namespace wavescope::thread_trace {

Number scan_integer(chrome_json::Cursor& cursor, int64_t& value) {
  constexpr int kMostDigits = 19;
  const char* at = cursor.at;
  const bool is_negative = *at == '-';
  if (is_negative) ++at;
  const char* const first = at;
  uint64_t magnitude = 0;
  while (*at >= '0' && *at <= '9') {
    if (at - first >= kMostDigits) return Number::other;
    magnitude = magnitude * 10 + static_cast<uint64_t>(*at - '0');
    ++at;
  }
  if (at >= cursor.end) return Number::incomplete;
  if (at == first || *at == '.' || *at == 'e' || *at == 'E') return Number::other;
  if (magnitude > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) return Number::other;
  value = is_negative ? -static_cast<int64_t>(magnitude) : static_cast<int64_t>(magnitude);
  cursor.at = at;
  return Number::integer;
}

}  // namespace wavescope::thread_trace
