// What is to be done when a thread of the application ends.
#ifndef WAVESCOPE_CORE_THREAD_END_H
#define WAVESCOPE_CORE_THREAD_END_H

#include <pthread.h>

namespace wavescope {

// Has `on_end(argument)` called when the calling thread ends. There is one key per process and function, whose only purpose
// this is.
template <void (*on_end)(void*)>
void call_at_thread_end(void* argument) {
  static const pthread_key_t key = [] {
    pthread_key_t created = 0;
    pthread_key_create(&created, on_end);
    return created;
  }();
  pthread_setspecific(key, argument);
}

}  // namespace wavescope

#endif
