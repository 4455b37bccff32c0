// The functions of the classic libnvToolsExt that mark time, so that code which was written for NVTX shows its ranges too.
// Header-only NVTX 3 calls no exported functions: see nvtx3_injection.cpp.
#include <cstdint>

#include "collector_roctx/markers.h"
#include "collector_roctx/next_function.h"
#include "collector_roctx/nvtx_event.h"
#include "core/session.h"

#define WAVESCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using wavescope::roctx::EventAttributes;
using wavescope::roctx::kNvtx;
using wavescope::roctx::NextFunction;
using wavescope::roctx::StartedRange;

NextFunction<void(const char*)> next_mark("nvtxMarkA");
NextFunction<void(const void*)> next_mark_ex("nvtxMarkEx");
NextFunction<int(const char*)> next_push("nvtxRangePushA");
NextFunction<int(const void*)> next_push_ex("nvtxRangePushEx");
NextFunction<int()> next_pop("nvtxRangePop");
NextFunction<uint64_t(const char*)> next_start("nvtxRangeStartA");
NextFunction<uint64_t(const void*)> next_start_ex("nvtxRangeStartEx");
NextFunction<void(uint64_t)> next_end("nvtxRangeEnd");

}  // namespace

WAVESCOPE_EXPORT void nvtxMarkA(const char* text) {
  wavescope::roctx::mark(text, kNvtx);
  if (auto* next = next_mark.get()) next(text);
}

WAVESCOPE_EXPORT void nvtxMarkEx(const EventAttributes* event) {
  wavescope::roctx::mark(wavescope::roctx::text_in(event).c_str(), kNvtx);
  if (auto* next = next_mark_ex.get()) next(event);
}

WAVESCOPE_EXPORT int nvtxRangePushA(const char* text) {
  if (auto* next = next_push.get()) next(text);
  return wavescope::roctx::push_range(text, kNvtx);
}

WAVESCOPE_EXPORT int nvtxRangePushEx(const EventAttributes* event) {
  if (auto* next = next_push_ex.get()) next(event);
  return wavescope::roctx::push_range(wavescope::roctx::text_in(event).c_str(), kNvtx);
}

WAVESCOPE_EXPORT int nvtxRangePop() {
  const int level = wavescope::roctx::pop_range();
  if (auto* next = next_pop.get()) next();
  return level;
}

WAVESCOPE_EXPORT uint64_t nvtxRangeStartA(const char* text) {
  auto* next = next_start.get();
  return wavescope::roctx::start_range(text, kNvtx, next == nullptr ? 0 : next(text));
}

WAVESCOPE_EXPORT uint64_t nvtxRangeStartEx(const EventAttributes* event) {
  auto* next = next_start_ex.get();
  return wavescope::roctx::start_range(wavescope::roctx::text_in(event).c_str(), kNvtx, next == nullptr ? 0 : next(event));
}

WAVESCOPE_EXPORT void nvtxRangeEnd(uint64_t id) {
  const StartedRange range = wavescope::roctx::stop_range(id);
  auto* next = next_end.get();
  if (next != nullptr && range.id_of_next != 0) next(range.id_of_next);
}
