// Threads of the program that are inside the collector. Where one waits or opens a file here, the C library could end it as
// pthread_cancel asked for: with a lock or a packet of the program in its hands, and through functions of the runtime that
// end the process when they are left like that. Alone the program would not be ended there.
#ifndef WAVESCOPE_CORE_NOT_CANCELLED_H
#define WAVESCOPE_CORE_NOT_CANCELLED_H

#include <pthread.h>
#include <unistd.h>

#include <cerrno>

namespace wavescope {

// While it lives, a request to cancel the calling thread waits.
class NotCancelled {
 public:
  NotCancelled() { pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &before_); }
  ~NotCancelled() { pthread_setcancelstate(before_, nullptr); }
  NotCancelled(const NotCancelled&) = delete;
  NotCancelled& operator=(const NotCancelled&) = delete;

 private:
  int before_ = PTHREAD_CANCEL_ENABLE;
};

// What the program finds in errno afterwards is its own.
inline void sleep_not_cancelled(useconds_t microseconds) {
  const NotCancelled here;
  const int kept_errno = errno;
  usleep(microseconds);
  errno = kept_errno;
}

}  // namespace wavescope

#endif
