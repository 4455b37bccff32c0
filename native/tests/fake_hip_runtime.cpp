// A few functions of HIP that check how they are called: what the interception must pass on unchanged.
#include <dlfcn.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collector_hip/hip_types.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace wavescope::hip;

namespace {

constexpr int kWrong = 1;
std::atomic<int> unloads{0};

}  // namespace

EXPORT int hipMemcpyAsync(void*, const void*, size_t bytes, int, void*) { return bytes == 13 ? kWrong : 0; }

// Goes through the exported name, as a runtime may do.
EXPORT int hipMemcpy(void* dst, const void* src, size_t bytes, int kind) {
  const auto nested = reinterpret_cast<decltype(&hipMemcpyAsync)>(dlsym(RTLD_DEFAULT, "hipMemcpyAsync"));
  return nested(dst, src, bytes, kind, nullptr);
}

EXPORT int hipMemset3D(PitchedPointer target, int value, Extent extent) {
  const bool right = target.pointer == &unloads && target.pitch == 11 && target.width == 12 && target.height == 13 &&
                     value == -5 && extent.width == 2 && extent.height == 3 && extent.depth == 4;
  return right ? 0 : kWrong;
}

EXPORT void* fake_target() { return &unloads; }

EXPORT int hipIpcOpenMemHandle(void** pointer, IpcHandle handle, uint32_t flags) {
  *pointer = reinterpret_cast<void*>(uintptr_t{0x5000});
  return handle.reserved[0] == 'a' && handle.reserved[63] == 'z' && flags == 7 ? 0 : kWrong;
}

EXPORT int hipLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream) {
  const bool right = grid.x == 1 && grid.y == 2 && grid.z == 3 && block.x == 64 && block.y == 4 && block.z == 1 &&
                     arguments == nullptr && shared == 256 && stream == reinterpret_cast<void*>(uintptr_t{0x77});
  return right && function != nullptr ? 0 : kWrong;
}

EXPORT int hipModuleUnload(void*) { return ++unloads, 0; }

// The same address means another kernel after a module was unloaded.
EXPORT const char* hipKernelNameRefByPtr(const void*, void*) { return unloads == 0 ? "first" : "second"; }
