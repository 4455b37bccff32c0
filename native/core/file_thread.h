// A thread with a table of descriptors of its own, in which the files of the session are open.
//
// The program's threads share one table: whatever is opened there, and be it for a moment, takes a number that the program
// may count on, and whatever stays open there the program may close. In a table of its own nothing of that can happen, and
// the files can be reached after the program changed its root, its user or the number of files it may open.
#ifndef WAVESCOPE_CORE_FILE_THREAD_H
#define WAVESCOPE_CORE_FILE_THREAD_H

#include <memory>

namespace wavescope {

class FileThread {
 public:
  // Has the thread, which is started if need be, do the work and waits until it has. False, with nothing done, where there
  // is no such thread: the system refuses it, or the process is at its end.
  template <typename Work>
  static bool run(Work& work) {
    return run([](void* context) { (*static_cast<Work*>(context))(); }, std::addressof(work));
  }

  // In a forked child, which has none of its parent's threads.
  static void forget_in_child();

  // From now on nothing waits for the thread: before an end that may come in a signal handler.
  static void do_without();

 private:
  static bool run(void (*work)(void* context), void* context);
};

}  // namespace wavescope

#endif
