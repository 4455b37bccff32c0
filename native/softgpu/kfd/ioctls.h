// Answers of the devices.
#ifndef WAVESCOPE_SOFTGPU_KFD_IOCTLS_H
#define WAVESCOPE_SOFTGPU_KFD_IOCTLS_H

#include "softgpu/kfd/machine.h"

namespace softgpu::kfd {

// 0 or an error number.
int kfd_ioctl(Machine& machine, unsigned long request, void* user);
int render_ioctl(Machine& machine, uint32_t gpu_index, unsigned long request, void* user);

}  // namespace softgpu::kfd

#endif
