// Driver calls as rows of a table.
#ifndef WAVESCOPE_SOFTGPU_KFD_IOCTL_TABLE_H
#define WAVESCOPE_SOFTGPU_KFD_IOCTL_TABLE_H

#include <sys/ioctl.h>

#include <algorithm>
#include <cerrno>
#include <cstddef>
#include <cstdint>

#include "softgpu/kfd/user_memory.h"

namespace softgpu::kfd {

// `Target` is what the call is made to. Handlers return 0 or an error number.
template <class Target>
struct Ioctl {
  unsigned number;
  const char* name;
  size_t argument_bytes;
  int (*handle)(Target& target, void* arguments);  // nullptr: known, and refused
};

template <class Target, class Arguments, int (*handler)(Target&, Arguments&)>
int handle_as(Target& target, void* arguments) {
  return handler(target, *static_cast<Arguments*>(arguments));
}

template <auto handler>
struct Handled;
template <class Target, class Arguments, int (*handler)(Target&, Arguments&)>
struct Handled<handler> {
  static constexpr Ioctl<Target> as(unsigned number, const char* name) {
    return {number, name, sizeof(Arguments), handle_as<Target, Arguments, handler>};
  }
};

constexpr size_t largest_arguments = 4096;

// Calls the handler as the driver would: with as much as the caller has of the arguments, and zeros for the rest.
// Nothing is written back when it fails.
template <class Target>
int run_ioctl(const Ioctl<Target>& call, Target& target, unsigned long request, void* user) {
  if (!call.handle) return ENOTTY;
  alignas(16) char arguments[largest_arguments];
  const size_t given = std::min<size_t>(_IOC_SIZE(request), sizeof arguments);
  std::fill_n(arguments + given, std::max(given, call.argument_bytes) - given, '\0');
  const auto address = reinterpret_cast<uint64_t>(user);
  if (!read_user(address, arguments, given)) return EFAULT;
  if (const int error = call.handle(target, arguments)) return error;
  return write_user(address, arguments, given) ? 0 : EFAULT;
}

template <class Target, size_t count>
const Ioctl<Target>* find_ioctl(const Ioctl<Target> (&table)[count], unsigned number) {
  for (const Ioctl<Target>& call : table) {
    if (call.number == number) return &call;
  }
  return nullptr;
}

}  // namespace softgpu::kfd

#endif
