// Calls of CUDA as records, in the file from the moment they are entered.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_CALL_RECORDER_H
#define WAVESCOPE_COLLECTOR_CUPTI_CALL_RECORDER_H

#include <atomic>
#include <cstdint>
#include <memory>

#include "collector_cupti/call_functions.h"
#include "collector_cupti/kernel_texts.h"
#include "collector_cupti/launch_notes.h"
#include "core/session.h"

namespace wavescope::cupti {

class CallRecorder {
 public:
  CallRecorder(Session& session, const LaunchNotes& notes);
  CallRecorder(const CallRecorder&) = delete;
  CallRecorder& operator=(const CallRecorder&) = delete;

  // The record of a call that begins; null when it is not recorded: paused, or no room.
  WavescopeCallRecord* enter(const CallFunction& function, const ApiCallbackData& data);
  // The call has returned.
  void leave(WavescopeCallRecord& record, const CallFunction& function, const ApiCallbackData& data, int32_t result);

 private:
  void describe(const CallFunction& function);

  Session& session_;
  const LaunchNotes& notes_;
  KernelTexts kernel_texts_;
  const std::unique_ptr<std::atomic<bool>[]> described_;  // per function
};

}  // namespace wavescope::cupti

#endif
