#include "collector_hip/looked_up.h"

#include <dlfcn.h>

#include <cstdint>
#include <cstring>

#include "collector_hip/real_functions.h"
#include "core/next_symbol.h"

namespace wavescope::hip {
namespace {

bool is_of_hip(const char* symbol) { return std::strncmp(symbol, "hip", 3) == 0; }

}  // namespace

extern "C" {

// hipSuccess is 0; the status, where it is asked for, stays what the runtime said.
__attribute__((visibility("default"))) int hipGetProcAddress(const char* symbol, void** function, int version, uint64_t flags,
                                                             void* status) {
  constexpr int kNotFound = 500;
  const auto real = hip_function<int(const char*, void**, int, uint64_t, void*)>("hipGetProcAddress");
  if (real == nullptr) return kNotFound;
  const int result = real(symbol, function, version, flags, status);
  if (result == 0 && symbol != nullptr && function != nullptr && *function != nullptr) *function = hook_of(symbol, *function);
  return result;
}

#if defined(__x86_64__)

// What dlsym does with a handle of a library. With the others (the global list, the next library) it looks who called, so
// those go to the linker's own dlsym by a jump that leaves no trace of us.
__attribute__((visibility("hidden"), used)) void* wavescope_dlsym(void* library, const char* symbol) {
  void* found = linker_dlsym()(library, symbol);
  return found != nullptr && is_of_hip(symbol) ? hook_of(symbol, found) : found;
}

__attribute__((visibility("hidden"), used)) void* wavescope_linker_dlsym() { return reinterpret_cast<void*>(linker_dlsym()); }

__asm__(
    ".pushsection .text\n"
    ".globl dlsym\n"
    ".type dlsym, @function\n"
    "dlsym:\n"
    "  lea 1(%rdi), %rax\n"  // RTLD_NEXT is -1, RTLD_DEFAULT is 0
    "  cmp $1, %rax\n"
    "  ja wavescope_dlsym\n"
    "  push %rdi\n"
    "  push %rsi\n"
    "  sub $8, %rsp\n"
    "  call wavescope_linker_dlsym\n"
    "  add $8, %rsp\n"
    "  pop %rsi\n"
    "  pop %rdi\n"
    "  jmp *%rax\n"
    ".size dlsym, . - dlsym\n"
    ".popsection\n");

#endif

}  // extern "C"

}  // namespace wavescope::hip
