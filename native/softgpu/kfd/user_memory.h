// Memory that a caller points to: like a kernel, look whether it is there instead of dying of it.
#ifndef WAVESCOPE_SOFTGPU_KFD_USER_MEMORY_H
#define WAVESCOPE_SOFTGPU_KFD_USER_MEMORY_H

#include <cstddef>
#include <cstdint>

namespace softgpu::kfd {

bool read_user(uint64_t address, void* to, size_t bytes);
bool write_user(uint64_t address, const void* from, size_t bytes);

// Whether the first and the last byte can be read.
bool is_readable(uint64_t address, size_t bytes);

}  // namespace softgpu::kfd

#endif
