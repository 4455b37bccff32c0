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

EventMarker::EventMarker(const EventAttributes* event, const NvtxDomain* domain, Handles handles) : marker_(nullptr, kNvtx) {
  marker_.domain = domain;
  if (!is_readable(event)) return;
  if (event->category <= UINT16_MAX) marker_.category = static_cast<uint16_t>(event->category);
  if (event->payload_type > WAVESCOPE_PAYLOAD_NONE && event->payload_type <= WAVESCOPE_PAYLOAD_FLOAT) {
    const bool is_short = event->payload_type >= WAVESCOPE_PAYLOAD_UINT32;  // what follows it is not set
    marker_.payload_kind = static_cast<uint8_t>(event->payload_type);
    marker_.payload = is_short ? static_cast<uint32_t>(event->payload) : event->payload;
  }
  if (event->message != nullptr) marker_.text = text_of(*event, handles);
}

const char* EventMarker::text_of(const EventAttributes& event, Handles handles) {
  if (event.message_type == MessageType::kAscii) return static_cast<const char*>(event.message);
  if (event.message_type == MessageType::kUnicode) {
    converted_ = utf8_of(static_cast<const wchar_t*>(event.message));
    return converted_.c_str();
  }
  if (event.message_type != MessageType::kRegistered) return nullptr;
  const auto* text =
      handles == Handles::kOurs ? static_cast<const std::string*>(event.message) : nvtx_text_of(event.message);
  return text == nullptr ? nullptr : text->c_str();
}

}  // namespace wavescope::roctx
