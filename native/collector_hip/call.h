// One call of a HIP function, in the file from the moment it is entered.
#ifndef WAVESCOPE_COLLECTOR_HIP_CALL_H
#define WAVESCOPE_COLLECTOR_HIP_CALL_H

#include <algorithm>
#include <cstdint>
#include <type_traits>

#include "collector_hip/functions.h"
#include "collector_hip/hip_types.h"
#include "collector_hip/kernel_names.h"
#include "core/clock.h"
#include "core/session.h"

namespace wavescope::hip {

constexpr int kSuccess = 0;

// Keeps what the program passed, before the call. What the call will leave is 0 until then.
class EntryArguments {
 public:
  explicit EntryArguments(WavescopeCallRecord& record) : slot_(record.arguments) {}

  template <typename Number>
  void number(Number value) {
    static_assert(std::is_integral_v<Number>);
    if constexpr (std::is_signed_v<Number>) *slot_++ = static_cast<uint64_t>(static_cast<int64_t>(value));
    else *slot_++ = value;
  }
  void address(const void* value) { *slot_++ = reinterpret_cast<uint64_t>(value); }
  void result(const void*) { ++slot_; }
  void text(const char* value) {
    Session* session = Session::if_open();
    *slot_++ = session == nullptr || value == nullptr ? 0 : session->texts().intern(value);
  }
  void stub(const void* function, const void*) { *slot_++ = kernel_names().find(function); }
  void function(const void* handle) { *slot_++ = kernel_names().find(handle); }
  void block(uint64_t x, uint64_t y, uint64_t z) {
    constexpr uint64_t kMost = (1u << 21) - 1;
    *slot_++ = std::min(x, kMost) | std::min(y, kMost) << 21 | std::min(z, kMost) << 42;
  }

 private:
  uint64_t* slot_;
};

// Keeps what a successful call left, and asks for kernel names that are not known yet: only now is the runtime known to
// accept the function.
class ReturnArguments {
 public:
  explicit ReturnArguments(WavescopeCallRecord& record) : slot_(record.arguments) {}

  template <typename Number>
  void number(Number) {
    ++slot_;
  }
  void address(const void*) { ++slot_; }
  template <typename Handle>
  void result(Handle* const* left) {
    *slot_++ = left == nullptr ? 0 : reinterpret_cast<uint64_t>(*left);
  }
  void result(const PitchedPointer* left) { *slot_++ = left == nullptr ? 0 : reinterpret_cast<uint64_t>(left->pointer); }
  void text(const char*) { ++slot_; }
  void stub(const void* function, void* stream) {
    if (*slot_ == 0 && function != nullptr) *slot_ = kernel_names().learn_stub(function, stream);
    ++slot_;
  }
  void function(void* handle) {
    if (*slot_ == 0 && handle != nullptr) *slot_ = kernel_names().learn_function(handle);
    ++slot_;
  }
  void block(uint64_t, uint64_t, uint64_t) { ++slot_; }

 private:
  uint64_t* slot_;
};

// A record for a call of the current thread, not yet published; null when the call is not to be recorded: another mode,
// paused, no room, or made by HIP itself inside of another call.
WavescopeCallRecord* new_call(Function function, const void* stream);

inline void enter(WavescopeCallRecord* record) {
  thread_state().correlation = record->correlation;
  record->flags = WAVESCOPE_CALL_OPEN;
  record->start = boottime_ns();
  publish(record, 1);
}

inline void leave(WavescopeCallRecord* record, int result, uint64_t end_ns) {
  record->end = end_ns;
  record->result = result;
  __atomic_store_n(&record->flags, uint8_t{0}, __ATOMIC_RELEASE);
  thread_state().correlation = 0;
}

}  // namespace wavescope::hip

#endif
