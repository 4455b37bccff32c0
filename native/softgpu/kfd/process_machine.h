// The machine of this process. It is never destroyed: threads of the runtime use it until the process ends.
#ifndef WAVESCOPE_SOFTGPU_KFD_PROCESS_MACHINE_H
#define WAVESCOPE_SOFTGPU_KFD_PROCESS_MACHINE_H

#include "softgpu/kfd/machine.h"

namespace softgpu::kfd {

// nullptr before a device is opened, and in a child of fork until it opens one itself.
Machine* machine();

// The machine, made by the first call; nullptr when it cannot be, which was said on stderr.
Machine* open_machine();

}  // namespace softgpu::kfd

#endif
