// The events of NVTX: text, category and payload.
#ifndef WAVESCOPE_COLLECTOR_ROCTX_NVTX_EVENT_H
#define WAVESCOPE_COLLECTOR_ROCTX_NVTX_EVENT_H

#include <cstdint>
#include <string>

#include "collector_roctx/markers.h"

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

// Whether the event is whole, as far as it is read here.
inline bool is_readable(const EventAttributes* event) { return event != nullptr && event->bytes >= sizeof(EventAttributes); }

// An event with its text for as long as this lives.
class EventMarker {
 public:
  // Registered texts are handles that we gave out, if the event came through NVTX's tables. Else they may be anything.
  enum class Handles { kOurs, kAnybodys };

  EventMarker(const EventAttributes* event, const NvtxDomain* domain, Handles handles);
  EventMarker(const EventMarker&) = delete;
  EventMarker& operator=(const EventMarker&) = delete;

  const Marker& marker() const { return marker_; }

 private:
  const char* text_of(const EventAttributes& event, Handles handles);

  std::string converted_;
  Marker marker_;
};

}  // namespace wavescope::roctx

#endif
