// The table's own declarations agree with HIP's header, function by function and structure by structure: the same number
// of parameters, each of the same size and passed the same way. A row that is newer than the header is compared with what
// is restated of it, or else waits for a newer header (see WAVESCOPE_HIP_INCLUDES).
#include <cstdio>

#if __has_include(<hip/hip_runtime_api.h>)
#define __HIP_PLATFORM_AMD__ 1
#define __HIP_DISABLE_CPP_FUNCTIONS__ 1  // its templates of the same names
#include <hip/hip_runtime_api.h>
#include <hip/hip_version.h>
#include <hip/hiprtc.h>

#include <cstddef>
#include <type_traits>

#include "collector_hip/hip_types.h"
#include "hip_restated.h"

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
#if HIP_VERSION >= 70100000
OVERLOADED(hipLibraryLoadData, hipLibrary_t*, const void*, hipJitOption*, void**, unsigned int, hipLibraryOption*, void**,
           unsigned int)
OVERLOADED(hipLibraryLoadFromFile, hipLibrary_t*, const char*, hipJitOption*, void**, unsigned int, hipLibraryOption*,
           void**, unsigned int)
#define hipLibraryLoadData hipLibraryLoadData_overload
#define hipLibraryLoadFromFile hipLibraryLoadFromFile_overload
#endif
#define hipLaunchCooperativeKernel hipLaunchCooperativeKernel_overload
#define hipLaunchCooperativeKernelMultiDevice hipLaunchCooperativeKernelMultiDevice_overload
#define hipExtLaunchMultiKernelMultiDevice hipExtLaunchMultiKernelMultiDevice_overload
#define hipMemcpyToSymbol hipMemcpyToSymbol_overload
#define hipMemcpyToSymbolAsync hipMemcpyToSymbolAsync_overload
#define hipMemcpyFromSymbol hipMemcpyFromSymbol_overload
#define hipMemcpyFromSymbolAsync hipMemcpyFromSymbolAsync_overload
#define hipMallocAsync hipMallocAsync_overload
#define hipMallocFromPoolAsync hipMallocFromPoolAsync_overload

enum class Verdict { kAgrees, kDiffers, kNotDeclared };

struct Row {
  const char* name;
  Verdict verdict;
};

template <typename Ours, typename Theirs>
constexpr Verdict verdict() {
  return Agree<Ours, Theirs>::value ? Verdict::kAgrees : Verdict::kDiffers;
}

#define AT_HAND(name, parameters) {#name, verdict<int parameters, decltype(name)>()},
#define RESTATED(name, parameters) {#name, verdict<int parameters, decltype(restated::name)>()},
#define NOT_DECLARED(name, parameters) {#name, Verdict::kNotDeclared},

#define SINCE_5_2 AT_HAND
#define SINCE_ext RESTATED
#if HIP_VERSION >= 50700000
#define SINCE_5_7 AT_HAND
#else
#define SINCE_5_7 NOT_DECLARED
#endif
#if HIP_VERSION >= 60400000
#define SINCE_6_4 AT_HAND
#else
#define SINCE_6_4 NOT_DECLARED
#endif
#if HIP_VERSION >= 70000000
#define SINCE_7_0 AT_HAND
using Config = hipLaunchConfig_t;
using DriverConfig = HIP_LAUNCH_CONFIG;
#else
#define SINCE_7_0 RESTATED
using restated::Config;
using restated::DriverConfig;
#endif
#if HIP_VERSION >= 70100000
#define SINCE_7_1 AT_HAND
using Peer = hipMemcpy3DPeerParms;
#else
#define SINCE_7_1 RESTATED
using restated::Peer;
#endif
#if HIP_VERSION >= 70200000
#define SINCE_7_2 AT_HAND
#else
#define SINCE_7_2 RESTATED
#endif

#define HIP_FUNCTION(kind, name, parameters, passed, stream, kept) AT_HAND(name, parameters)
#define HIP_NEWER_FUNCTION(since, kind, name, parameters, passed, stream, kept) SINCE_##since(name, parameters)
#define HIP_CXX_FUNCTION(kind, name, parameters, passed, stream, kept, symbol) RESTATED(name, parameters)
constexpr Row kRows[] = {
#include "collector_hip/hip_functions.def"
};

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

using DriverCopy3DAtHand = DriverCopy3D<std::conditional_t<(HIP_VERSION >= 60000000), size_t, uint32_t>>;
static_assert(sizeof(DriverCopy3DAtHand) == sizeof(HIP_MEMCPY3D));
static_assert(offsetof(DriverCopy3DAtHand, source_device) == offsetof(HIP_MEMCPY3D, srcDevice));
static_assert(offsetof(DriverCopy3DAtHand, target_device) == offsetof(HIP_MEMCPY3D, dstDevice));
static_assert(offsetof(DriverCopy3DAtHand, width) == offsetof(HIP_MEMCPY3D, WidthInBytes));
static_assert(offsetof(DriverCopy3DAtHand, depth) == offsetof(HIP_MEMCPY3D, Depth));

static_assert(sizeof(PeerCopy3D) == sizeof(Peer));
static_assert(offsetof(PeerCopy3D, source) == offsetof(Peer, srcPtr));
static_assert(offsetof(PeerCopy3D, source_device) == offsetof(Peer, srcDevice));
static_assert(offsetof(PeerCopy3D, target) == offsetof(Peer, dstPtr));
static_assert(offsetof(PeerCopy3D, target_device) == offsetof(Peer, dstDevice));
static_assert(offsetof(PeerCopy3D, extent) == offsetof(Peer, extent));

static_assert(sizeof(MemoryLocation) == sizeof(hipMemLocation));
static_assert(offsetof(MemoryLocation, device) == offsetof(hipMemLocation, id));

static_assert(sizeof(LaunchConfig) == sizeof(Config));
static_assert(offsetof(LaunchConfig, block) == offsetof(Config, blockDim));
static_assert(offsetof(LaunchConfig, shared_bytes) == offsetof(Config, dynamicSmemBytes));
static_assert(offsetof(LaunchConfig, stream) == offsetof(Config, stream));

static_assert(sizeof(DriverLaunchConfig) == sizeof(DriverConfig));
static_assert(offsetof(DriverLaunchConfig, block_x) == offsetof(DriverConfig, blockDimX));
static_assert(offsetof(DriverLaunchConfig, shared_bytes) == offsetof(DriverConfig, sharedMemBytes));
static_assert(offsetof(DriverLaunchConfig, stream) == offsetof(DriverConfig, hStream));

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

static_assert(offsetof(AnyMemsetParameters, target) == offsetof(hipMemsetParams, dst));

#if HIP_VERSION >= 50700000
static_assert(sizeof(FunctionLaunchParameters) == sizeof(hipFunctionLaunchParams));
static_assert(offsetof(FunctionLaunchParameters, function) == offsetof(hipFunctionLaunchParams, function));
static_assert(offsetof(FunctionLaunchParameters, stream) == offsetof(hipFunctionLaunchParams, hStream));

static_assert(sizeof(AllocationNodeParameters) == sizeof(hipMemAllocNodeParams));
static_assert(offsetof(AllocationNodeParameters, bytes) == offsetof(hipMemAllocNodeParams, bytesize));
static_assert(offsetof(AllocationNodeParameters, address) == offsetof(hipMemAllocNodeParams, dptr));
#endif

#if HIP_VERSION >= 60400000
static_assert(sizeof(NodeParameters) == sizeof(hipGraphNodeParams));
static_assert(offsetof(NodeParameters, kernel) == offsetof(hipGraphNodeParams, kernel));
static_assert(hipGraphNodeTypeKernel == 0);
#endif
#if HIP_VERSION >= 60400000 && HIP_VERSION < 70000000
static_assert(offsetof(AnyMemsetParameters, target) == offsetof(HIP_MEMSET_NODE_PARAMS, dst));
#endif

int differing() {
  int agreeing = 0, different = 0, waiting = 0;
  for (const Row& row : kRows) {
    if (row.verdict == Verdict::kDiffers) std::fprintf(stderr, "%s is declared otherwise by HIP\n", row.name);
    agreeing += row.verdict == Verdict::kAgrees;
    different += row.verdict == Verdict::kDiffers;
    waiting += row.verdict == Verdict::kNotDeclared;
  }
  std::printf("HIP %d.%d: %d functions agree, %d differ, %d are newer than this header\n", HIP_VERSION_MAJOR,
              HIP_VERSION_MINOR, agreeing, different, waiting);
  return different;
}

}  // namespace wavescope::hip::test

int main() { return wavescope::hip::test::differing() == 0 ? 0 : 1; }

#else

int main() {
  std::puts("skipped: there is no hip/hip_runtime_api.h to compare with (Debian: apt-get install libamdhip64-dev)");
  return 77;
}

#endif
