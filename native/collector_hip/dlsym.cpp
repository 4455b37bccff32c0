// dlsym, for programs that look functions of HIP up by the handle of its library.
#include <dlfcn.h>

#include <cstring>

#include "collector_hip/looked_up.h"
#include "collector_hip/real_functions.h"
#include "core/next_symbol.h"

#if defined(__x86_64__)

namespace wavescope::hip {
namespace {

bool is_of_hip(const char* symbol) { return std::strncmp(symbol, "hip", 3) == 0; }

}  // namespace

extern "C" {

// What dlsym does with a handle of a library. With the others (the global list, the next library) it looks who called, so
// those go to the linker's own dlsym by a jump that leaves no trace of us.
__attribute__((visibility("hidden"), used)) void* wavescope_dlsym(void* library, const char* symbol) {
  void* found = linker_dlsym()(library, symbol);
  return found != nullptr && is_of_hip(symbol) ? hook_of(symbol, found) : found;
}

// Fails as the linker does, for a function that the program would not find without us.
__attribute__((visibility("hidden"))) void* wavescope_not_found(void*, const char* symbol) {
  void* found = linker_dlsym()(RTLD_NEXT, symbol);
  __asm__ volatile("" : "+r"(found));  // a tail call would make the program the one who asks for what comes next
  return found;
}

// Where such a lookup goes on. Programs ask the global list which functions the runtime has; that we stand before
// functions of other versions must not answer for it.
__attribute__((visibility("hidden"), used)) Dlsym wavescope_dlsym_of_list(void* library, const char* symbol) {
  const bool is_only_ours =
      library == RTLD_DEFAULT && is_of_hip(symbol) && stands_before(symbol) && find_hip_symbol(symbol) == nullptr;
  return is_only_ours ? wavescope_not_found : linker_dlsym();
}

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
    "  call wavescope_dlsym_of_list\n"
    "  add $8, %rsp\n"
    "  pop %rsi\n"
    "  pop %rdi\n"
    "  jmp *%rax\n"
    ".size dlsym, . - dlsym\n"
    ".popsection\n");

}  // extern "C"

}  // namespace wavescope::hip

#endif
