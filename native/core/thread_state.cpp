#include "core/thread_state.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "core/session.h"

namespace wavescope {
namespace {

void end_thread(void* opaque) {
  auto* state = static_cast<ThreadState*>(opaque);
  if (Session* session = Session::if_open()) session->thread_ends(*state);
}

// One key per process, whose only purpose is that end_thread is called.
pthread_key_t thread_end_key() {
  static const pthread_key_t key = [] {
    pthread_key_t created = 0;
    pthread_key_create(&created, end_thread);
    return created;
  }();
  return key;
}

}  // namespace

__thread ThreadState thread_storage;

void begin_thread(ThreadState& state) {
  state.thread_id = static_cast<uint32_t>(syscall(SYS_gettid));
  pthread_setspecific(thread_end_key(), &state);
}

}  // namespace wavescope
