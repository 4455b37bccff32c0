// What each thread of the application carries: its id, the innermost open range, the call it is in, its blocks of records.
#ifndef WAVESCOPE_CORE_THREAD_STATE_H
#define WAVESCOPE_CORE_THREAD_STATE_H

#include <cstdint>

#include "core/stream_file.h"

namespace wavescope {

// Plain data, zero at first. Written by its own thread only: the roctx code sets `marker`, the HIP code `correlation`,
// and the dispatch path, which runs on the same thread, reads both.
struct ThreadState {
  uint32_t thread_id;     // kernel thread id; 0 until first asked for
  uint32_t marker;        // id of the innermost open push/pop range; 0 for none
  uint64_t correlation;   // of the call that the thread is in; 0 for none
  RecordCursor markers;
  RecordCursor calls;
};

// The initial-exec model makes an access one instruction; the struct is small enough for the room that the dynamic
// linker keeps for libraries that are opened late.
extern __thread ThreadState thread_storage __attribute__((tls_model("initial-exec")));

void begin_thread(ThreadState& state);

inline ThreadState& thread_state() {
  ThreadState& state = thread_storage;
  if (__builtin_expect(state.thread_id == 0, 0)) begin_thread(state);
  return state;
}

inline uint32_t current_thread() { return thread_state().thread_id; }
inline uint32_t current_marker() { return thread_storage.marker; }
inline uint64_t current_correlation() { return thread_storage.correlation; }

}  // namespace wavescope

#endif
