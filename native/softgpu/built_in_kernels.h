// The kernels with which the runtimes themselves copy and fill, carried out on the host so that results are right.
#ifndef WAVESCOPE_SOFTGPU_BUILT_IN_KERNELS_H
#define WAVESCOPE_SOFTGPU_BUILT_IN_KERNELS_H

#include <string_view>

#include "softgpu/memory.h"
#include "softgpu/packets.h"

namespace softgpu {

enum class BuiltInOutcome { done, not_yet };

// Does the kernel's work, or says that what it waits for in memory has not come yet.
using BuiltIn = BuiltInOutcome (*)(const DispatchPacket& dispatch, const Memory& memory);

// HIP's own kernels, by name; nullptr for all others.
BuiltIn hip_built_in(std::string_view kernel_name);

// The copy and fill shaders of ROCr, which are in no code object: told apart by the shape of their arguments.
BuiltInOutcome run_rocr_shader(const DispatchPacket& dispatch, const Memory& memory);

}  // namespace softgpu

#endif
