#include "collector_hip/real_functions.h"

#include <string>

#include "core/next_symbol.h"
#include "core/session.h"

namespace wavescope::hip {

RealFunctions real_functions;

void* find_hip_symbol(const char* symbol) {
  // HIP's compiler is part of its library or, in later versions, a library of its own.
  static constexpr const char* kLibraries[] = {"libamdhip64.so", "libhiprtc.so", nullptr};
  return next_symbol(symbol, kLibraries);
}

void* RealFunctions::find(Function function) {
  const std::size_t at = static_cast<std::size_t>(function);
  void* found = find_hip_symbol(symbol_of(function));
  found_[at].store(found, std::memory_order_release);
  if (found == nullptr && !missed_[at].exchange(true)) {
    if (Session* session = Session::current()) {
      session->facts().note(std::string("no loaded library has ") + symbol_of(function) + ": the call was refused");
    }
  }
  return found;
}

}  // namespace wavescope::hip
