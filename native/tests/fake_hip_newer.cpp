// Functions that came with HIP 5.3 to 7.2, for the same purpose as fake_hip_runtime.cpp: each answers 0 if it got what
// test_host_hip_newer.cpp passes, and tells the test when it is inside of the call.
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "collector_hip/hip_types.h"

#define EXPORT extern "C" __attribute__((visibility("default")))

using namespace wavescope::hip;

namespace {

constexpr int kWrong = 1;

void* address(uintptr_t value) { return reinterpret_cast<void*>(value); }
bool is(const void* pointer, uintptr_t value) { return pointer == address(value); }
bool is(const Dim3& size, uint32_t x, uint32_t y, uint32_t z) { return size.x == x && size.y == y && size.z == z; }

void nothing() {}
int libraries_unloaded = 0;

}  // namespace

extern "C" {
__attribute__((visibility("default"))) void (*fake_inside)() = nothing;
}

namespace {

int right_if(bool right) {
  fake_inside();
  return right ? 0 : kWrong;
}

}  // namespace

// HIP 6 is told by it.
EXPORT int hipGetDevicePropertiesR0600(void*, int) { return 0; }

EXPORT const char* hipKernelNameRef(const void* function) {
  return is(function, 0xf1) ? "of_function" : libraries_unloaded == 0 ? "of_library" : "of_next_library";
}

// Launches

EXPORT int hipLaunchKernelExC(const LaunchConfig* config, const void* function, void** arguments) {
  return right_if(config != nullptr && is(config->grid, 1, 2, 3) && is(config->block, 64, 4, 1) &&
                  config->shared_bytes == 256 && is(config->stream, 0x77) && config->attribute_count == 5 &&
                  function != nullptr && is(arguments, 0xa0));
}

EXPORT int hipDrvLaunchKernelEx(const DriverLaunchConfig* config, void* function, void** arguments, void** extra) {
  return right_if(config->grid_x == 1 && config->grid_z == 3 && config->block_x == 64 && config->shared_bytes == 256 &&
                  is(config->stream, 0x77) && is(function, 0xf1) && is(arguments, 0xa0) && is(extra, 0xe0));
}

EXPORT int hipLaunchKernel_spt(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream) {
  return right_if(function != nullptr && is(grid, 1, 2, 3) && is(block, 64, 4, 1) && is(arguments, 0xa0) && shared == 256 &&
                  stream == nullptr);
}

EXPORT int hipLaunchCooperativeKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, uint32_t shared,
                                      void* stream) {
  return right_if(function != nullptr && is(grid, 1, 2, 3) && is(block, 64, 4, 1) && is(arguments, 0xa0) && shared == 256 &&
                  is(stream, 0x77));
}

EXPORT int hipLaunchCooperativeKernel_spt(const void* function, Dim3 grid, Dim3 block, void** arguments, uint32_t shared,
                                          void* stream) {
  return hipLaunchCooperativeKernel(function, grid, block, arguments, shared, stream);
}

EXPORT int hipLaunchCooperativeKernelMultiDevice(LaunchParameters* launches, int count, uint32_t flags) {
  return right_if(count == 2 && flags == 3 && is(launches[1].stream, 0x78) && launches[0].shared_bytes == 256);
}

EXPORT int hipModuleLaunchCooperativeKernel(void* function, uint32_t grid_x, uint32_t, uint32_t grid_z, uint32_t block_x,
                                            uint32_t, uint32_t, uint32_t shared, void* stream, void** arguments) {
  return right_if(is(function, 0xf1) && grid_x == 1 && grid_z == 3 && block_x == 64 && shared == 256 && is(stream, 0x77) &&
                  is(arguments, 0xa0));
}

EXPORT int hipModuleLaunchCooperativeKernelMultiDevice(FunctionLaunchParameters* launches, uint32_t count, uint32_t flags) {
  return right_if(count == 2 && flags == 3 && is(launches[1].stream, 0x78));
}

EXPORT int hipExtModuleLaunchKernel(void* function, uint32_t work_x, uint32_t work_y, uint32_t work_z, uint32_t block_x,
                                    uint32_t block_y, uint32_t, size_t shared, void* stream, void** arguments, void** extra,
                                    void* start, void* stop, uint32_t flags) {
  return right_if(is(function, 0xf1) && work_x == 60 && work_y == 8 && work_z == 3 && block_x == 64 && block_y == 4 &&
                  shared == 256 && is(stream, 0x77) && is(arguments, 0xa0) && is(extra, 0xe0) && is(start, 0x51) &&
                  is(stop, 0x52) && flags == 9);
}

EXPORT int hipHccModuleLaunchKernel(void* function, uint32_t work_x, uint32_t, uint32_t, uint32_t block_x, uint32_t,
                                    uint32_t, size_t shared, void* stream, void** arguments, void** extra, void* start,
                                    void* stop) {
  return right_if(is(function, 0xf1) && work_x == 60 && block_x == 64 && shared == 256 && is(stream, 0x77) &&
                  is(arguments, 0xa0) && is(extra, 0xe0) && is(start, 0x51) && is(stop, 0x52));
}

// Copies and fills

EXPORT int hipMemcpyBatchAsync(void** targets, void** sources, size_t* sizes, size_t count, void* attributes,
                               size_t* indices, size_t attribute_count, size_t* failed, void* stream) {
  return right_if(targets != nullptr && is(targets[1], 0xd2) && is(sources[1], 0x52) && sizes[1] == 23 && count == 2 &&
                  is(attributes, 0x61) && is(indices, 0x62) && attribute_count == 1 && is(failed, 0x63) && is(stream, 0x77));
}

EXPORT int hipMemPrefetchAsync_v2(const void* pointer, size_t bytes, MemoryLocation location, uint32_t flags, void* stream) {
  return right_if(is(pointer, 0xd1) && bytes == 100 && location.type == 1 && location.device == 3 && flags == 9 &&
                  is(stream, 0x77));
}

EXPORT int hipMemcpy3DPeerAsync(PeerCopy3D* copy, void* stream) {
  return right_if(copy->source_device == 1 && copy->target_device == 2 && is(stream, 0x77));
}

EXPORT int hipMemcpyAtoA(void* dst, size_t dst_offset, void* src, size_t src_offset, size_t bytes) {
  return right_if(is(dst, 0xd1) && dst_offset == 4 && is(src, 0x51) && src_offset == 8 && bytes == 100);
}

EXPORT int hipMemcpy2DAsync_spt(void* dst, size_t dst_pitch, const void* src, size_t src_pitch, size_t width, size_t height,
                                int kind, void* stream) {
  return right_if(is(dst, 0xd1) && dst_pitch == 64 && is(src, 0x51) && src_pitch == 32 && width == 20 && height == 5 &&
                  kind == 2 && stream == nullptr);
}

EXPORT int hipDrvMemcpy3D(const DriverCopy3D<size_t>* copy) { return right_if(copy->depth == 4); }

EXPORT int hipMemsetD2D16Async(void* dst, size_t pitch, unsigned short value, size_t width, size_t height, void* stream) {
  return right_if(is(dst, 0xd1) && pitch == 64 && value == 0xffff && width == 20 && height == 5 && is(stream, 0x77));
}

EXPORT int hipMemset3DAsync_spt(PitchedPointer dst, int value, Extent extent, void* stream) {
  return right_if(is(dst.pointer, 0xd1) && dst.height == 13 && value == -5 && extent.depth == 4 && stream == nullptr);
}

// Memory, streams and graphs

EXPORT int hipMemSetAccess(void* pointer, size_t bytes, const void* access, size_t count) {
  return right_if(is(pointer, 0xd1) && bytes == 4096 && is(access, 0x61) && count == 2);
}

EXPORT int hipStreamBatchMemOp(void* stream, uint32_t count, void* operations, uint32_t flags) {
  return right_if(is(stream, 0x77) && count == 3 && is(operations, 0x61) && flags == 9);
}

EXPORT int hipSignalExternalSemaphoresAsync(const void* semaphores, const void* parameters, uint32_t count, void* stream) {
  return right_if(is(semaphores, 0x61) && is(parameters, 0x62) && count == 2 && is(stream, 0x77));
}

EXPORT int hipLaunchHostFunc_spt(void* stream, void* function, void* data) {
  return right_if(stream == nullptr && is(function, 0xf1) && is(data, 0x61));
}

EXPORT int hipStreamBeginCaptureToGraph(void* stream, void* graph, const void* dependencies, const void* edges, size_t count,
                                        int mode) {
  return right_if(is(stream, 0x77) && is(graph, 0x91) && is(dependencies, 0x61) && is(edges, 0x62) && count == 2 &&
                  mode == 1);
}

EXPORT int hipGraphAddNode(void** node, void* graph, const void* dependencies, size_t count, NodeParameters* parameters) {
  *node = address(0x92);
  return right_if(is(graph, 0x91) && is(dependencies, 0x61) && count == 2 && parameters->type <= 1);
}

EXPORT int hipGraphAddMemAllocNode(void** node, void* graph, const void*, size_t, AllocationNodeParameters* allocation) {
  *node = address(0x92);
  allocation->address = address(0xd1);
  return right_if(is(graph, 0x91) && allocation->bytes == 4096);
}

EXPORT int hipGraphExecMemcpyNodeSetParams1D(void* executable, void* node, void* dst, const void* src, size_t bytes,
                                             int kind) {
  return right_if(is(executable, 0x93) && is(node, 0x92) && is(dst, 0xd1) && is(src, 0x51) && bytes == 100 && kind == 3);
}

EXPORT int hipGraphExecNodeSetParams(void* executable, void* node, NodeParameters* parameters) {
  return right_if(is(executable, 0x93) && is(node, 0x92) && parameters != nullptr);
}

// Code

EXPORT int hipLibraryGetKernel(void** kernel, void* library, const char* name) {
  *kernel = address(0xf2);
  return right_if(is(library, 0x81) && std::strcmp(name, "scale") == 0);
}

EXPORT int hipLibraryUnload(void* library) {
  ++libraries_unloaded;
  return right_if(is(library, 0x81));
}

EXPORT int hipFuncSetAttribute(const void* function, int attribute, int value) {
  return right_if(function != nullptr && attribute == 8 && value == 65536);
}

EXPORT int hiprtcCompileProgram(void* program, int count, const char** options) {
  return right_if(is(program, 0x81) && count == 2 && is(options, 0x61));
}

// Lookups

// As HIP has it: the null pointers and flags that it refuses, and the twin with a stream per thread.
EXPORT int hipGetProcAddress(const char* symbol, void** function, int version, uint64_t flags, int* status) {
  constexpr int kInvalid = 1, kNoSuchSymbol = 1;
  if (symbol == nullptr || function == nullptr || flags > 2) return kInvalid;
  *function = nullptr;
  if (std::strcmp(symbol, "hipMemSetAccess") == 0) *function = reinterpret_cast<void*>(&hipMemSetAccess);
  if (std::strcmp(symbol, "hipLaunchCooperativeKernel") == 0) {
    *function = flags == 2 ? reinterpret_cast<void*>(&hipLaunchCooperativeKernel_spt)
                           : reinterpret_cast<void*>(&hipLaunchCooperativeKernel);
  }
  if (std::strcmp(symbol, "hipGetDeviceProperties") == 0 && version >= 600) {
    *function = reinterpret_cast<void*>(&hipGetDevicePropertiesR0600);
  }
  if (status != nullptr) *status = *function == nullptr ? kNoSuchSymbol : 0;
  return *function == nullptr ? kInvalid : 0;
}

EXPORT int hipGetDriverEntryPoint(const char* symbol, void** function, unsigned long long flags, int* status) {
  return hipGetProcAddress(symbol, function, 700, flags, status);
}

EXPORT int hipGetDriverEntryPoint_spt(const char* symbol, void** function, unsigned long long flags, int* status) {
  return hipGetProcAddress(symbol, function, 700, flags == 0 ? 2 : flags, status);
}
