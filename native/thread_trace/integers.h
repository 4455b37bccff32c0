// Integers in JSON text.
#pragma once

#include <cstdint>

#include "chrome_json/tokens.h"

namespace wavescope::thread_trace {

enum class Number : uint8_t { integer, other, incomplete };

// Reads an integer of 64 bits; anything else leaves the cursor where it is.
Number scan_integer(chrome_json::Cursor& cursor, int64_t& value);

}  // namespace wavescope::thread_trace
