// A thread with a table of descriptors of its own, which does what others ask it for.
//
// The program's threads share one table: whatever is opened there, and be it for a moment, takes a number that the program
// may count on, and whatever is open there the program may close at any moment. Here neither can happen.
#ifndef WAVESCOPE_CORE_APART_THREAD_H
#define WAVESCOPE_CORE_APART_THREAD_H

#include <cstdint>
#include <functional>
#include <memory>

namespace wavescope {

class ApartThread {
 public:
  // Not started before it is needed. Of the program's descriptors its table keeps `kept` (-1: none); `prepare` runs in it
  // first and says whether the thread is of use.
  ApartThread(const char* name, int kept, std::function<bool()> prepare);
  ~ApartThread() { end(); }
  ApartThread(const ApartThread&) = delete;
  ApartThread& operator=(const ApartThread&) = delete;

  // Has the thread do the work and waits until it has. False, with nothing done, where there is no such thread: the system
  // refuses it, it is of no use, has ended, or was left behind by a fork.
  template <typename Work>
  bool run(Work& work) {
    return run([](void* context) { (*static_cast<Work*>(context))(); }, std::addressof(work));
  }

  bool is_of_this_process() const;

  // From now on nothing waits for the thread; it may be inside a signal handler.
  void do_without();
  // The thread ends and its descriptors are closed; whoever asks is finished first.
  void end();

 private:
  class Counter;
  enum class Stage : uint32_t;
  struct Shared;

  static void* serve(void* opaque);
  void start();
  bool run(void (*work)(void* context), void* context);

  const std::shared_ptr<Shared> shared_;  // with the thread
};

}  // namespace wavescope

#endif
