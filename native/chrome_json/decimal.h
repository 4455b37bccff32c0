// Decimal text to scaled integers, exactly.
#pragma once

#include <cstdint>
#include <string_view>

namespace wavescope::chrome_json {

// Reads `text` ("-12.5", "1.5e3") times 10^scale into `value`, rounded half away from zero. False when the text is no such
// number or the result does not fit.
bool parse_decimal(std::string_view text, int scale, int64_t& value);

// A number that no other text gives: for the usual spellings of ids, "123" and "0x7f" without leading zeros. It is not
// negative. False for every other text.
bool spelled_number(std::string_view text, int64_t& value);

}  // namespace wavescope::chrome_json
