// Functions that a program looks up by name instead of having them bound: by dlsym with the handle of the HIP library, as
// Triton and ctypes do, or by hipGetProcAddress.
#ifndef WAVESCOPE_COLLECTOR_HIP_LOOKED_UP_H
#define WAVESCOPE_COLLECTOR_HIP_LOOKED_UP_H

namespace wavescope::hip {

// Our function in place of `found`, if that is the runtime's own of this name or its twin with a stream per thread, which
// hipGetProcAddress may give for it; else `found` itself.
void* hook_of(const char* symbol, void* found);

// The same for the functions of the table only.
void* row_hook_of(const char* symbol, void* found);

// Whether we have a function of this name, which the linker then finds before the runtime's.
bool stands_before(const char* symbol);

}  // namespace wavescope::hip

#endif
