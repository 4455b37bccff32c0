#include "core/thread_state.h"

#include <sys/syscall.h>
#include <unistd.h>

#include "core/session.h"
#include "core/thread_end.h"

namespace wavescope {
namespace {

void end_thread(void* opaque) {
  auto* state = static_cast<ThreadState*>(opaque);
  if (Session* session = Session::if_open()) session->thread_ends(*state);
}

}  // namespace

__thread ThreadState thread_storage;

void begin_thread(ThreadState& state) {
  state.thread_id = static_cast<uint32_t>(syscall(SYS_gettid));
  call_at_thread_end<end_thread>(&state);
}

}  // namespace wavescope
