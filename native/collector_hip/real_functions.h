// The functions of the HIP runtime itself, found at their first call.
#ifndef WAVESCOPE_COLLECTOR_HIP_REAL_FUNCTIONS_H
#define WAVESCOPE_COLLECTOR_HIP_REAL_FUNCTIONS_H

#include <atomic>
#include <cstddef>

#include "collector_hip/functions.h"

namespace wavescope::hip {

// A function of the HIP runtime by its symbol; null when no loaded library has it.
void* find_hip_symbol(const char* symbol);

template <typename Signature>
Signature* hip_function(const char* symbol) {
  return reinterpret_cast<Signature*>(find_hip_symbol(symbol));
}

class RealFunctions {
 public:
  // Null when no loaded library has it; that is noted once, and looked for again at the next call.
  void* get(Function function) {
    void* found = found_[static_cast<std::size_t>(function)].load(std::memory_order_acquire);
    return __builtin_expect(found != nullptr, 1) ? found : find(function);
  }

 private:
  static constexpr std::size_t kCount = static_cast<std::size_t>(Function::kCount);
  void* find(Function function);

  std::atomic<void*> found_[kCount];
  std::atomic<bool> missed_[kCount];
};

// Zero at first and never destroyed: programs call HIP before our constructors and after our destructors.
extern RealFunctions real_functions;

}  // namespace wavescope::hip

#endif
