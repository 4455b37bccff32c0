// The thread in whose table the files of the session are open (see ApartThread): there they can be reached after the program
// changed its root, its user or the number of files it may open.
#ifndef WAVESCOPE_CORE_FILE_THREAD_H
#define WAVESCOPE_CORE_FILE_THREAD_H

#include "core/apart_thread.h"

namespace wavescope {

class FileThread {
 public:
  // Has the thread, which is started if need be, do the work and waits until it has. False, with nothing done, where there
  // is no such thread: the system refuses it, or the process is at its end.
  template <typename Work>
  static bool run(Work& work) {
    return current().run(work);
  }

  // In a forked child, which has none of its parent's threads.
  static void forget_in_child();

  // From now on nothing waits for the thread: before an end that may come in a signal handler.
  static void do_without();

 private:
  static ApartThread& current();
};

}  // namespace wavescope

#endif
