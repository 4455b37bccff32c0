#include "collector_hip/looked_up.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <iterator>

#include "collector_hip/functions.h"
#include "collector_hip/real_functions.h"

namespace wavescope::hip {
namespace {

constexpr int kNotFound = 500;  // hipErrorNotFound

// Puts our function in the place where a successful lookup left the runtime's. What the runtime said of it stays.
int hooked(int result, const char* symbol, void** function) {
  constexpr int kSuccess = 0;
  if (result == kSuccess && symbol != nullptr && function != nullptr && *function != nullptr) {
    *function = hook_of(symbol, *function);
  }
  return result;
}

using ProcAddress = int(const char*, void**, int, uint64_t, void*);
using EntryPoint = int(const char*, void**, unsigned long long, void*);

}  // namespace

extern "C" {

#define HIP_PROC_ADDRESS(name)                                                                                      \
  __attribute__((visibility("default"))) int name(const char* symbol, void** function, int version, uint64_t flags, \
                                                  void* status) {                                                   \
    const auto real = hip_function<ProcAddress>(#name);                                                             \
    return real == nullptr ? kNotFound : hooked(real(symbol, function, version, flags, status), symbol, function);  \
  }
#define HIP_ENTRY_POINT(name)                                                                                    \
  __attribute__((visibility("default"))) int name(const char* symbol, void** function, unsigned long long flags, \
                                                  void* status) {                                                \
    const auto real = hip_function<EntryPoint>(#name);                                                           \
    return real == nullptr ? kNotFound : hooked(real(symbol, function, flags, status), symbol, function);        \
  }
#include "collector_hip/hip_lookups.def"
#undef HIP_PROC_ADDRESS
#undef HIP_ENTRY_POINT

}  // extern "C"

namespace {

struct Lookup {
  const char* symbol;
  void* ours;
};

#define HIP_PROC_ADDRESS(name) {#name, reinterpret_cast<void*>(&name)},
#define HIP_ENTRY_POINT(name) {#name, reinterpret_cast<void*>(&name)},
const Lookup* lookup_of(const char* symbol) {
  static const Lookup kLookups[] = {
#include "collector_hip/hip_lookups.def"
  };
  const auto* const found = std::find_if(std::begin(kLookups), std::end(kLookups),
                                         [&](const Lookup& lookup) { return std::strcmp(lookup.symbol, symbol) == 0; });
  return found == std::end(kLookups) ? nullptr : found;
}

}  // namespace

void* hook_of(const char* symbol, void* found) {
  const Lookup* const lookup = lookup_of(symbol);
  if (lookup == nullptr) return row_hook_of(symbol, found);
  return find_hip_symbol(symbol) == found ? lookup->ours : found;
}

bool stands_before(const char* symbol) { return lookup_of(symbol) != nullptr || has_row(symbol); }

}  // namespace wavescope::hip
