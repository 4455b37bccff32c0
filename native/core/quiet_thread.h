// Threads of ours in somebody's program, whose signals are none of their business.
#ifndef WAVESCOPE_CORE_QUIET_THREAD_H
#define WAVESCOPE_CORE_QUIET_THREAD_H

#include <pthread.h>
#include <signal.h>

namespace wavescope {

// While it lives, the calling thread gets no signal but that of a page that is gone: a file may be cut off while it is
// written. Threads inherit that.
class MostSignalsBlocked {
 public:
  MostSignalsBlocked() {
    sigset_t most;
    sigfillset(&most);
    sigdelset(&most, SIGBUS);
    pthread_sigmask(SIG_SETMASK, &most, &before_);
  }
  ~MostSignalsBlocked() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  MostSignalsBlocked(const MostSignalsBlocked&) = delete;
  MostSignalsBlocked& operator=(const MostSignalsBlocked&) = delete;

  // Starts a thread that nobody waits for. False: the system refuses it.
  bool start_thread(void* (*run)(void*), void* context) const {
    pthread_t thread{};
    if (pthread_create(&thread, nullptr, run, context) != 0) return false;
    pthread_detach(thread);
    return true;
  }

 private:
  sigset_t before_;
};

}  // namespace wavescope

#endif
