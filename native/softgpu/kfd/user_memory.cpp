#include "softgpu/kfd/user_memory.h"

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

namespace softgpu::kfd {

namespace {

enum class Transfer { done, refused, unavailable };

Transfer transfer(long call, uint64_t address, void* own, size_t bytes) {
  if (bytes == 0) return Transfer::done;
  const iovec local{own, bytes};
  const iovec remote{reinterpret_cast<void*>(address), bytes};
  const long moved = syscall(call, getpid(), &local, 1UL, &remote, 1UL, 0UL);
  if (moved == static_cast<long>(bytes)) return Transfer::done;
  const bool is_forbidden = moved < 0 && (errno == EPERM || errno == ENOSYS);  // by a sandbox
  return is_forbidden ? Transfer::unavailable : Transfer::refused;
}

}  // namespace

bool read_user(uint64_t address, void* to, size_t bytes) {
  const Transfer result = transfer(SYS_process_vm_readv, address, to, bytes);
  if (result == Transfer::unavailable) std::memcpy(to, reinterpret_cast<const void*>(address), bytes);
  return result != Transfer::refused;
}

bool write_user(uint64_t address, const void* from, size_t bytes) {
  const Transfer result = transfer(SYS_process_vm_writev, address, const_cast<void*>(from), bytes);
  if (result == Transfer::unavailable) std::memcpy(reinterpret_cast<void*>(address), from, bytes);
  return result != Transfer::refused;
}

bool is_readable(uint64_t address, size_t bytes) {
  char byte = 0;
  return bytes && address <= UINT64_MAX - bytes && read_user(address, &byte, 1) && read_user(address + bytes - 1, &byte, 1);
}

}  // namespace softgpu::kfd
