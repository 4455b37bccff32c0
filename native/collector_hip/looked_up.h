// Functions that a program looks up by name instead of having them bound: by dlsym with the handle of the HIP library, as
// Triton and ctypes do, or by hipGetProcAddress.
#ifndef WAVESCOPE_COLLECTOR_HIP_LOOKED_UP_H
#define WAVESCOPE_COLLECTOR_HIP_LOOKED_UP_H

namespace wavescope::hip {

// Our function in place of `found`, if that is the runtime's own of this name; else `found` itself.
void* hook_of(const char* symbol, void* found);

}  // namespace wavescope::hip

#endif
