#include "collector_cupti/call_recorder.h"

#include "core/clock.h"

namespace wavescope::cupti {

CallRecorder::CallRecorder(Session& session, const LaunchNotes& notes)
    : session_(session),
      notes_(notes),
      kernel_texts_(session.texts()),
      described_(new std::atomic<bool>[call_function_count()]()) {}

void CallRecorder::describe(const CallFunction& function) {
  if (!described_[number_of(function)].exchange(true)) session_.facts().append(function_fact(function));
}

WavescopeCallRecord* CallRecorder::enter(const CallFunction& function, const ApiCallbackData& data) {
  if (!session_.recording()) return nullptr;
  if (__builtin_expect(!described_[number_of(function)].load(std::memory_order_acquire), 0)) describe(function);
  const uint64_t kernel_text = function.effect == Effect::kKernel ? kernel_texts_.find(data.symbol_name) : 0;
  WavescopeCallRecord* record = session_.new_call();
  if (record == nullptr) return nullptr;
  ThreadState& thread = thread_state();
  record->function = static_cast<uint16_t>(kFirstFunction + number_of(function));
  record->thread = thread.thread_id;
  record->correlation = notes_.whole(data.correlation);
  record->marker = thread.marker;
  EntryArguments kept(session_, *record, kernel_text);
  function.keep_at_entry(data.parameters, kept);
  thread.correlation = record->correlation;
  record->flags = WAVESCOPE_CALL_OPEN;
  record->start = boottime_ns();
  publish(record, 1);
  return record;
}

void CallRecorder::leave(WavescopeCallRecord& record, const CallFunction& function, const ApiCallbackData& data,
                         int32_t result) {
  record.end = boottime_ns();
  record.result = result;
  if (result == 0) {
    ExitArguments kept(record);
    function.keep_at_exit(data.parameters, kept);
  }
  __atomic_store_n(&record.flags, uint8_t{0}, __ATOMIC_RELEASE);
  thread_state().correlation = 0;
}

}  // namespace wavescope::cupti
