// Names of kernels, read from the code objects that the runtime has loaded into GPU memory.
#ifndef WAVESCOPE_SOFTGPU_CODE_OBJECTS_H
#define WAVESCOPE_SOFTGPU_CODE_OBJECTS_H

#include <cstdint>
#include <string>

#include "softgpu/memory.h"

namespace softgpu {

// The symbol of the kernel whose descriptor the host sees at `kernel_object`, without its suffix ".kd"; empty when the
// block holds no ELF image that has it.
std::string kernel_symbol(const Block& block, uint64_t kernel_object);

}  // namespace softgpu

#endif
