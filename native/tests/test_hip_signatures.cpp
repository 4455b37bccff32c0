// The table's own declarations agree with HIP's header, function by function and structure by structure: the same number
// of parameters, each of the same size and passed the same way. Without the header there is nothing to compare.
#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1  // its templates of the same names
#include <hip/hip_runtime_api.h>

#include <cstddef>
#include <type_traits>

#include "collector_hip/hip_types.h"

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

namespace wavescope::hip::test {

// Integers and pointers travel in integer registers and need the same width there; structures the same bytes.
template <typename Ours, typename Theirs>
constexpr bool passed_alike() {
  constexpr bool ours_in_register = std::is_integral_v<Ours> || std::is_pointer_v<Ours>;
  constexpr bool theirs_in_register = std::is_integral_v<Theirs> || std::is_pointer_v<Theirs> || std::is_enum_v<Theirs>;
  return sizeof(Ours) == sizeof(Theirs) && ours_in_register == theirs_in_register;
}

template <typename Ours, typename Theirs>
struct Agree : std::false_type {};

template <typename... Ours, typename Result, typename... Theirs>
struct Agree<int(Ours...), Result(Theirs...)> {
  static constexpr bool all() {
    if constexpr (sizeof...(Ours) != sizeof...(Theirs)) return false;
    else return sizeof(Result) == sizeof(int) && (passed_alike<Ours, Theirs>() && ...);
  }
  static constexpr bool value = all();
};

// Functions that the header also has as templates: their type must be spelled to name the one that is exported.
#define OVERLOADED(name, ...)                                             \
  using name##_function = hipError_t(__VA_ARGS__);                        \
  using name##_exists = decltype(static_cast<name##_function*>(&::name)); \
  extern name##_function name##_overload;
OVERLOADED(hipLaunchCooperativeKernel, const void*, dim3, dim3, void**, unsigned int, hipStream_t)
OVERLOADED(hipLaunchCooperativeKernelMultiDevice, hipLaunchParams*, int, unsigned int)
OVERLOADED(hipExtLaunchMultiKernelMultiDevice, hipLaunchParams*, int, unsigned int)
OVERLOADED(hipMemcpyToSymbol, const void*, const void*, size_t, size_t, hipMemcpyKind)
OVERLOADED(hipMemcpyToSymbolAsync, const void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t)
OVERLOADED(hipMemcpyFromSymbol, void*, const void*, size_t, size_t, hipMemcpyKind)
OVERLOADED(hipMemcpyFromSymbolAsync, void*, const void*, size_t, size_t, hipMemcpyKind, hipStream_t)
OVERLOADED(hipMallocAsync, void**, size_t, hipStream_t)
OVERLOADED(hipMallocFromPoolAsync, void**, size_t, hipMemPool_t, hipStream_t)
#define hipLaunchCooperativeKernel hipLaunchCooperativeKernel_overload
#define hipLaunchCooperativeKernelMultiDevice hipLaunchCooperativeKernelMultiDevice_overload
#define hipExtLaunchMultiKernelMultiDevice hipExtLaunchMultiKernelMultiDevice_overload
#define hipMemcpyToSymbol hipMemcpyToSymbol_overload
#define hipMemcpyToSymbolAsync hipMemcpyToSymbolAsync_overload
#define hipMemcpyFromSymbol hipMemcpyFromSymbol_overload
#define hipMemcpyFromSymbolAsync hipMemcpyFromSymbolAsync_overload
#define hipMallocAsync hipMallocAsync_overload
#define hipMallocFromPoolAsync hipMallocFromPoolAsync_overload

#define HIP_FUNCTION(kind, name, parameters, passed, stream, kept) \
  static_assert(Agree<int parameters, decltype(name)>::value, #name);
#define HIP_NEWER_FUNCTION(kind, name, parameters, passed, stream, kept)
#define HIP_CXX_FUNCTION(kind, name, parameters, passed, stream, kept, symbol)
#include "collector_hip/hip_functions.def"

static_assert(sizeof(Dim3) == sizeof(dim3));
static_assert(sizeof(Extent) == sizeof(hipExtent));
static_assert(sizeof(PitchedPointer) == sizeof(hipPitchedPtr));
static_assert(sizeof(IpcHandle) == sizeof(hipIpcMemHandle_t));
static_assert(offsetof(PitchedPointer, pointer) == offsetof(hipPitchedPtr, ptr));

static_assert(sizeof(Copy3D) == sizeof(hipMemcpy3DParms));
static_assert(offsetof(Copy3D, source) == offsetof(hipMemcpy3DParms, srcPtr));
static_assert(offsetof(Copy3D, target) == offsetof(hipMemcpy3DParms, dstPtr));
static_assert(offsetof(Copy3D, extent) == offsetof(hipMemcpy3DParms, extent));
static_assert(offsetof(Copy3D, kind) == offsetof(hipMemcpy3DParms, kind));

static_assert(sizeof(DriverCopy2D) == sizeof(hip_Memcpy2D));
static_assert(offsetof(DriverCopy2D, source_device) == offsetof(hip_Memcpy2D, srcDevice));
static_assert(offsetof(DriverCopy2D, target_device) == offsetof(hip_Memcpy2D, dstDevice));
static_assert(offsetof(DriverCopy2D, width) == offsetof(hip_Memcpy2D, WidthInBytes));
static_assert(offsetof(DriverCopy2D, height) == offsetof(hip_Memcpy2D, Height));

static_assert(sizeof(DriverCopy3D) == sizeof(HIP_MEMCPY3D));
static_assert(offsetof(DriverCopy3D, source_device) == offsetof(HIP_MEMCPY3D, srcDevice));
static_assert(offsetof(DriverCopy3D, target_device) == offsetof(HIP_MEMCPY3D, dstDevice));
static_assert(offsetof(DriverCopy3D, width) == offsetof(HIP_MEMCPY3D, WidthInBytes));
static_assert(offsetof(DriverCopy3D, depth) == offsetof(HIP_MEMCPY3D, Depth));

static_assert(sizeof(LaunchParameters) == sizeof(hipLaunchParams));
static_assert(offsetof(LaunchParameters, function) == offsetof(hipLaunchParams, func));
static_assert(offsetof(LaunchParameters, stream) == offsetof(hipLaunchParams, stream));

static_assert(sizeof(KernelNodeParameters) == sizeof(hipKernelNodeParams));
static_assert(offsetof(KernelNodeParameters, function) == offsetof(hipKernelNodeParams, func));
static_assert(offsetof(KernelNodeParameters, grid) == offsetof(hipKernelNodeParams, gridDim));
static_assert(offsetof(KernelNodeParameters, block) == offsetof(hipKernelNodeParams, blockDim));
static_assert(offsetof(KernelNodeParameters, shared_bytes) == offsetof(hipKernelNodeParams, sharedMemBytes));

static_assert(sizeof(MemsetParameters) == sizeof(hipMemsetParams));
static_assert(offsetof(MemsetParameters, target) == offsetof(hipMemsetParams, dst));
static_assert(offsetof(MemsetParameters, element_bytes) == offsetof(hipMemsetParams, elementSize));
static_assert(offsetof(MemsetParameters, width) == offsetof(hipMemsetParams, width));
static_assert(offsetof(MemsetParameters, height) == offsetof(hipMemsetParams, height));
static_assert(offsetof(MemsetParameters, value) == offsetof(hipMemsetParams, value));

}  // namespace wavescope::hip::test
#endif

int main() { return 0; }
