// A function of the real libroctx64 or libnvToolsExt, if the program has it too: other tools listen there.
#ifndef WAVESCOPE_COLLECTOR_ROCTX_NEXT_FUNCTION_H
#define WAVESCOPE_COLLECTOR_ROCTX_NEXT_FUNCTION_H

#include <atomic>

#include "core/next_symbol.h"

namespace wavescope::roctx {

// While a call is passed on to the real libnvToolsExt, which may call back into us as the tool that is injected into it:
// what it tells of then is recorded already.
class PassingOn {
 public:
  PassingOn() { ++depth(); }
  ~PassingOn() { --depth(); }
  PassingOn(const PassingOn&) = delete;
  PassingOn& operator=(const PassingOn&) = delete;

  static bool is_under_way() { return depth() != 0; }

 private:
  static int& depth() {
    static thread_local int of_thread = 0;
    return of_thread;
  }
};

// Looked for at the first call, once: a failing search is far more expensive than a marker.
template <typename Function>
class NextFunction {
 public:
  explicit constexpr NextFunction(const char* symbol) : symbol_(symbol) {}

  // Null when there is no such library.
  Function* get() {
    if (__builtin_expect(!searched_.load(std::memory_order_acquire), 0)) search();
    return found_.load(std::memory_order_relaxed);
  }

 private:
  void search() {
    static constexpr const char* kLibraries[] = {"libroctx64.so", "librocprofiler-sdk-roctx.so", "libnvToolsExt.so",
                                                 nullptr};
    found_.store(reinterpret_cast<Function*>(next_symbol(symbol_, kLibraries)), std::memory_order_relaxed);
    searched_.store(true, std::memory_order_release);
  }

  const char* const symbol_;
  std::atomic<Function*> found_{nullptr};
  std::atomic<bool> searched_{false};
};

}  // namespace wavescope::roctx

#endif
