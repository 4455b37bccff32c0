// The events of NVTX, as far as their text.
#ifndef WAVESCOPE_COLLECTOR_ROCTX_NVTX_EVENT_H
#define WAVESCOPE_COLLECTOR_ROCTX_NVTX_EVENT_H

#include <cstdint>
#include <string>

namespace wavescope::roctx {

enum class MessageType : int32_t { kAscii = 1, kUnicode = 2, kRegistered = 3 };

// The head of nvtxEventAttributes_t.
struct EventAttributes {
  uint16_t version;
  uint16_t bytes;
  uint32_t category;
  int32_t color_type;
  uint32_t color;
  int32_t payload_type;
  int32_t reserved;
  uint64_t payload;
  MessageType message_type;
  const void* message;
};

std::string utf8_of(const wchar_t* text);

// Whether the event has a message at all.
inline bool has_message(const EventAttributes* event) {
  return event != nullptr && event->bytes >= sizeof(EventAttributes) && event->message != nullptr;
}

// The text of an event that holds it itself; empty when it does not.
std::string text_in(const EventAttributes* event);

}  // namespace wavescope::roctx

#endif
