#include "collector_roctx/nvtx_event.h"

namespace wavescope::roctx {

std::string utf8_of(const wchar_t* text) {
  std::string out;
  for (; text != nullptr && *text != 0; ++text) {
    const auto character = static_cast<uint32_t>(*text);
    if (character < 0x80) {
      out += static_cast<char>(character);
    } else if (character < 0x800) {
      out += static_cast<char>(0xc0 | character >> 6);
      out += static_cast<char>(0x80 | (character & 0x3f));
    } else if (character < 0x10000) {
      out += static_cast<char>(0xe0 | character >> 12);
      out += static_cast<char>(0x80 | (character >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (character & 0x3f));
    } else {
      out += static_cast<char>(0xf0 | (character >> 18 & 0x7));
      out += static_cast<char>(0x80 | (character >> 12 & 0x3f));
      out += static_cast<char>(0x80 | (character >> 6 & 0x3f));
      out += static_cast<char>(0x80 | (character & 0x3f));
    }
  }
  return out;
}

std::string text_in(const EventAttributes* event) {
  if (!has_message(event)) return "";
  if (event->message_type == MessageType::kAscii) return static_cast<const char*>(event->message);
  return event->message_type == MessageType::kUnicode ? utf8_of(static_cast<const wchar_t*>(event->message)) : "";
}

}  // namespace wavescope::roctx
