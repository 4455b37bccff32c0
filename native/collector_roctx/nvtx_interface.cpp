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
using wavescope::roctx::EventMarker;
using wavescope::roctx::kNvtx;
using wavescope::roctx::NextFunction;
using wavescope::roctx::PassingOn;
using wavescope::roctx::StartedRange;

NextFunction<void(const char*)> next_mark("nvtxMarkA");
NextFunction<void(const void*)> next_mark_ex("nvtxMarkEx");
NextFunction<int(const char*)> next_push("nvtxRangePushA");
NextFunction<int(const void*)> next_push_ex("nvtxRangePushEx");
NextFunction<int()> next_pop("nvtxRangePop");
NextFunction<uint64_t(const char*)> next_start("nvtxRangeStartA");
NextFunction<uint64_t(const void*)> next_start_ex("nvtxRangeStartEx");
NextFunction<void(uint64_t)> next_end("nvtxRangeEnd");

// What the real library answers; 0 without it.
template <typename Result, typename... Parameters, typename... Arguments>
Result pass_on(NextFunction<Result(Parameters...)>& function, Arguments... arguments) {
  auto* next = function.get();
  if (next == nullptr) return Result();
  const PassingOn passing_on;
  return next(arguments...);
}

// The classic functions know the default domain only.
EventMarker marker_of(const EventAttributes* event) { return EventMarker(event, nullptr, EventMarker::Handles::kAnybodys); }

}  // namespace

WAVESCOPE_EXPORT void nvtxMarkA(const char* text) {
  wavescope::roctx::mark(text, kNvtx);
  pass_on(next_mark, text);
}

WAVESCOPE_EXPORT void nvtxMarkEx(const EventAttributes* event) {
  wavescope::roctx::mark(marker_of(event).marker());
  pass_on(next_mark_ex, event);
}

WAVESCOPE_EXPORT int nvtxRangePushA(const char* text) {
  pass_on(next_push, text);
  return wavescope::roctx::push_range(text, kNvtx);
}

WAVESCOPE_EXPORT int nvtxRangePushEx(const EventAttributes* event) {
  pass_on(next_push_ex, event);
  return wavescope::roctx::push_range(marker_of(event).marker());
}

WAVESCOPE_EXPORT int nvtxRangePop() {
  const int level = wavescope::roctx::pop_range();
  pass_on(next_pop);
  return level;
}

WAVESCOPE_EXPORT uint64_t nvtxRangeStartA(const char* text) {
  return wavescope::roctx::start_range(text, kNvtx, pass_on(next_start, text));
}

WAVESCOPE_EXPORT uint64_t nvtxRangeStartEx(const EventAttributes* event) {
  return wavescope::roctx::start_range(marker_of(event).marker(), pass_on(next_start_ex, event));
}

WAVESCOPE_EXPORT void nvtxRangeEnd(uint64_t id) {
  const StartedRange range = wavescope::roctx::stop_range(id);
  if (range.id_of_next != 0) pass_on(next_end, range.id_of_next);
}
