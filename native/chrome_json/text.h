// Text as JSON files hold it: escapes, invalid UTF-8.
#pragma once

#include <string>
#include <string_view>

namespace wavescope::chrome_json {

// 0 to 15, or -1.
int hexadecimal_value(char character);

bool is_valid_utf8(std::string_view text);

// Appends `text` with every byte that is no part of valid UTF-8 replaced by U+FFFD. True when there was one.
bool append_valid_utf8(std::string_view text, std::string& output);

// Appends what an escaped string stands for; `text` must have passed scan_string. Lone surrogates and invalid UTF-8 become
// U+FFFD; true when there were any.
bool append_unescaped(std::string_view text, std::string& output);

// Appends a JSON value that has passed skip_value as compact, strictly valid JSON: no space outside strings, raw control
// characters escaped, NaN and Infinity quoted. True when invalid UTF-8 or a lone surrogate was replaced by U+FFFD.
bool append_compact_json(std::string_view value, std::string& output);

}  // namespace wavescope::chrome_json
