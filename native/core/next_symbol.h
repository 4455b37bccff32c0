// The function that the program would have called if this library did not stand in between.
#ifndef WAVESCOPE_CORE_NEXT_SYMBOL_H
#define WAVESCOPE_CORE_NEXT_SYMBOL_H

namespace wavescope {

// The next definition of `symbol` after ours, or else the one of an already loaded library whose file name begins with
// one of `libraries` (a list that a null ends): what an extension module pulls in is not in the linker's global list.
// Never loads a library. Null when there is none.
void* next_symbol(const char* symbol, const char* const* libraries);

// The linker's own dlsym, whoever stands before it.
using Dlsym = void* (*)(void* library, const char* symbol);
Dlsym linker_dlsym();

}  // namespace wavescope

#endif
