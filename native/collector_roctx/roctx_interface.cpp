// The functions of roctx, as programs and frameworks call them: here they record, and pass on to the real library if the
// program has it too. Without a session they only keep levels and ids right.
#include <cstdint>

#include "collector_roctx/markers.h"
#include "collector_roctx/next_function.h"
#include "core/session.h"

#define WAVESCOPE_EXPORT extern "C" __attribute__((visibility("default")))

namespace {

using wavescope::Fact;
using wavescope::Session;
using wavescope::roctx::kRoctx;
using wavescope::roctx::NextFunction;
using wavescope::roctx::StartedRange;

constexpr uint32_t kVersionMajor = 4;
constexpr uint32_t kVersionMinor = 1;

NextFunction<void(const char*)> next_mark("roctxMarkA");
NextFunction<int(const char*)> next_push("roctxRangePushA");
NextFunction<int()> next_pop("roctxRangePop");
NextFunction<uint64_t(const char*)> next_start("roctxRangeStartA");
NextFunction<void(uint64_t)> next_stop("roctxRangeStop");
NextFunction<int(uint64_t)> next_pause("roctxProfilerPause");
NextFunction<int(uint64_t)> next_resume("roctxProfilerResume");
NextFunction<int(const char*)> next_name_thread("roctxNameOsThread");
NextFunction<int(const char*, const void*)> next_name_agent("roctxNameHsaAgent");
NextFunction<int(const char*, int)> next_name_device("roctxNameHipDevice");
NextFunction<int(const char*, const void*)> next_name_stream("roctxNameHipStream");

// What the program calls one of its things; the reader shows it by that name.
void record_label(const char* what, uint64_t id, const char* name) {
  Session* session = Session::current();
  if (session == nullptr || name == nullptr) return;
  session->facts().append(Fact("label").add("what", what).add("id", id).add("name", name));
}

}  // namespace

WAVESCOPE_EXPORT uint32_t roctx_version_major() { return kVersionMajor; }
WAVESCOPE_EXPORT uint32_t roctx_version_minor() { return kVersionMinor; }

WAVESCOPE_EXPORT void roctxMarkA(const char* text) {
  wavescope::roctx::mark(text, kRoctx);
  if (auto* next = next_mark.get()) next(text);
}

WAVESCOPE_EXPORT int roctxRangePushA(const char* text) {
  if (auto* next = next_push.get()) next(text);
  return wavescope::roctx::push_range(text, kRoctx);
}

WAVESCOPE_EXPORT int roctxRangePop() {
  const int level = wavescope::roctx::pop_range();
  if (auto* next = next_pop.get()) next();
  return level;
}

WAVESCOPE_EXPORT uint64_t roctxRangeStartA(const char* text) {
  auto* next = next_start.get();
  return wavescope::roctx::start_range(text, kRoctx, next == nullptr ? 0 : next(text));
}

WAVESCOPE_EXPORT void roctxRangeStop(uint64_t id) {
  const StartedRange range = wavescope::roctx::stop_range(id);
  auto* next = next_stop.get();
  if (next != nullptr && range.id_of_next != 0) next(range.id_of_next);
}

WAVESCOPE_EXPORT void roctxMark(const char* text) { roctxMarkA(text); }
WAVESCOPE_EXPORT int roctxRangePush(const char* text) { return roctxRangePushA(text); }
WAVESCOPE_EXPORT uint64_t roctxRangeStart(const char* text) { return roctxRangeStartA(text); }

WAVESCOPE_EXPORT int roctxGetThreadId(uint64_t* thread) {
  if (thread == nullptr) return -1;
  *thread = wavescope::current_thread();
  return 0;
}

// Pausing concerns the whole process, whichever thread is named: what the GPU does has no thread.
WAVESCOPE_EXPORT int roctxProfilerPause(uint64_t thread) {
  if (Session* session = Session::current()) session->control().pause();
  if (auto* next = next_pause.get()) next(thread);
  return 0;
}

WAVESCOPE_EXPORT int roctxProfilerResume(uint64_t thread) {
  if (auto* next = next_resume.get()) next(thread);
  if (Session* session = Session::current()) session->control().resume();
  return 0;
}

WAVESCOPE_EXPORT int roctxNameOsThread(const char* name) {
  Session* session = Session::current();
  if (session != nullptr && name != nullptr) {
    session->facts().append(Fact("thread").add("thread", wavescope::current_thread()).add("name", name));
  }
  if (auto* next = next_name_thread.get()) next(name);
  return 0;
}

WAVESCOPE_EXPORT int roctxNameHsaAgent(const char* name, const void* agent) {
  // hsa_agent_t is a struct of one 64-bit handle, given by address.
  if (agent != nullptr) record_label("hsa_agent", *static_cast<const uint64_t*>(agent), name);
  if (auto* next = next_name_agent.get()) next(name, agent);
  return 0;
}

WAVESCOPE_EXPORT int roctxNameHipDevice(const char* name, int device) {
  record_label("hip_device", static_cast<uint64_t>(device), name);
  if (auto* next = next_name_device.get()) next(name, device);
  return 0;
}

WAVESCOPE_EXPORT int roctxNameHipStream(const char* name, const void* stream) {
  record_label("hip_stream", reinterpret_cast<uint64_t>(stream), name);
  if (auto* next = next_name_stream.get()) next(name, stream);
  return 0;
}
