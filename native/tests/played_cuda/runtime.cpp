// The stand-in for libcudart: its launches do not show in the driver's domain, its allocations and copies do.
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "engine.h"

#define RUNTIME_FUNCTION extern "C" PLAYED_EXPORT int

using played::CallScope;
using played::Graph;
using played::Kernel;
using played::Op;
using played::OpKind;
using played::Size3;
using played::Stream;

extern "C" int cuMemAlloc_v2(uint64_t* address, std::size_t bytes);
extern "C" int cuMemFree_v2(uint64_t address);
extern "C" int cuMemcpyHtoDAsync_v2(uint64_t target, const void* source, std::size_t bytes, void* stream);
extern "C" int cuInit(unsigned flags);

namespace {

constexpr auto kRuntime = played::abi::CuptiCallbackDomain::kRuntimeApi;
constexpr int kInvalidDeviceFunction = 98;
constexpr int kInvalidConfiguration = 9;
constexpr int kInvalidDevice = 101;

struct Dim3 {
  unsigned x, y, z;
};

struct Kernels {
  std::mutex mutex;
  std::map<const void*, Kernel> by_function;
};

Kernels& kernels() {
  static Kernels& one = *new Kernels;
  return one;
}

// As the runtime does at a program's first call of it.
int begin() {
  const int result = cuInit(0);
  if (result == 0) played::stream_of(nullptr);
  return result;
}

Kernel kernel_of(const void* function) {
  const std::lock_guard<std::mutex> lock(kernels().mutex);
  const auto found = kernels().by_function.find(function);
  return found == kernels().by_function.end() ? Kernel() : found->second;
}

Size3 size_of(Dim3 size) { return {static_cast<int>(size.x), static_cast<int>(size.y), static_cast<int>(size.z)}; }

played::abi::CopyKind copy_kind_of(int kind) {
  using played::abi::CopyKind;
  constexpr CopyKind kinds[] = {CopyKind::kHostToHost, CopyKind::kHostToDevice, CopyKind::kDeviceToHost,
                                CopyKind::kDeviceToDevice};
  return kind >= 0 && kind < 4 ? kinds[kind] : CopyKind::kHostToDevice;
}

struct Event {
  uint64_t ns = 0;
};

}  // namespace

// What __cudaRegisterFunction and the cubin tell the runtime about a kernel.
extern "C" PLAYED_EXPORT void played_kernel(const void* function, const char* name, int registers, int static_shared_bytes,
                                            int local_bytes, uint64_t duration_ns) {
  const std::lock_guard<std::mutex> lock(kernels().mutex);
  kernels().by_function[function] = {name, static_cast<uint16_t>(registers), static_shared_bytes,
                                     static_cast<uint32_t>(local_bytes), duration_ns};
}

RUNTIME_FUNCTION cudaGetDeviceCount(int* count) {
  if (const int trouble = begin()) return trouble;
  *count = static_cast<int>(played::gpu_count());
  return 0;
}

RUNTIME_FUNCTION cudaSetDevice(int device) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    int device;
  } parameters{device};
  const CallScope scope(kRuntime, 16, "cudaSetDevice", &parameters, result);
  if (device < 0 || device >= static_cast<int>(played::gpu_count())) return result = kInvalidDevice;
  played::current_context() = played::primary_context(static_cast<uint32_t>(device));
  return result;
}

RUNTIME_FUNCTION cudaStreamCreate(void** stream) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void** stream;
  } parameters{stream};
  const CallScope scope(kRuntime, 129, "cudaStreamCreate", &parameters, result);
  *stream = played::create_stream();
  return result;
}

RUNTIME_FUNCTION cudaStreamDestroy(void* stream) {
  int result = 0;
  struct {
    void* stream;
  } parameters{stream};
  const CallScope scope(kRuntime, 201, "cudaStreamDestroy", &parameters, result);
  played::wait_for(static_cast<Stream*>(stream)->busy_until_ns);
  played::destroy_stream(static_cast<Stream*>(stream));
  return result;
}

namespace {

int launch(uint32_t id, const char* name, const void* function, Dim3 grid, Dim3 block, void** arguments,
           std::size_t shared_bytes, void* stream) {
  if (const int trouble = begin()) return trouble;
  const Kernel kernel = kernel_of(function);
  int result = 0;
  struct {
    const void* function;
    Dim3 grid, block;
    void** arguments;
    std::size_t shared_bytes;
    void* stream;
  } parameters{function, grid, block, arguments, shared_bytes, stream};
  const CallScope scope(kRuntime, id, name, &parameters, result, kernel.name);
  if (kernel.name[0] == 0) return result = kInvalidDeviceFunction;
  if (grid.x == 0 || block.x == 0 || block.x > 1024) return result = kInvalidConfiguration;
  Op op;
  op.kernel = kernel;
  op.grid = size_of(grid);
  op.block = size_of(block);
  op.dynamic_shared_bytes = static_cast<int32_t>(shared_bytes);
  played::submit(played::stream_of(stream), op);
  return result;
}

}  // namespace

RUNTIME_FUNCTION cudaLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t shared_bytes,
                                  void* stream) {
  return launch(211, "cudaLaunchKernel", function, grid, block, arguments, shared_bytes, stream);
}

// What a launch with <<<>>> calls: from CUDA 13 on a function of its own.
RUNTIME_FUNCTION played_launch(const void* function, Dim3 grid, Dim3 block, void** arguments, std::size_t shared_bytes,
                               void* stream) {
#if PLAYED_CUDART >= 13
  return launch(505, "__cudaLaunchKernel", function, grid, block, arguments, shared_bytes, stream);
#else
  return cudaLaunchKernel(function, grid, block, arguments, shared_bytes, stream);
#endif
}

RUNTIME_FUNCTION cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, int kind, void* stream) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void* target;
    const void* source;
    std::size_t bytes;
    int kind;
    void* stream;
  } parameters{target, source, bytes, kind, stream};
  const CallScope scope(kRuntime, 41, "cudaMemcpyAsync", &parameters, result);
  if (copy_kind_of(kind) == played::abi::CopyKind::kHostToDevice)
    return result = cuMemcpyHtoDAsync_v2(reinterpret_cast<uint64_t>(target), source, bytes, stream);
  Op op;
  op.kind = OpKind::kCopy;
  op.copy_kind = copy_kind_of(kind);
  op.bytes = bytes;
  played::submit(played::stream_of(stream), op);
  return result;
}

RUNTIME_FUNCTION cudaMemcpyPeerAsync(void* target, int target_gpu, const void* source, int source_gpu, std::size_t bytes,
                                     void* stream) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void* target;
    int target_gpu;
    const void* source;
    int source_gpu;
    std::size_t bytes;
    void* stream;
  } parameters{target, target_gpu, source, source_gpu, bytes, stream};
  const CallScope scope(kRuntime, 161, "cudaMemcpyPeerAsync", &parameters, result);
  Op op;
  op.kind = OpKind::kCopy;
  op.copy_kind = played::abi::CopyKind::kPeer;
  op.bytes = bytes;
  op.target_gpu = static_cast<uint32_t>(target_gpu);
  played::submit(played::stream_of(stream), op);
  return result;
}

RUNTIME_FUNCTION cudaMemsetAsync(void* target, int value, std::size_t bytes, void* stream) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void* target;
    int value;
    std::size_t bytes;
    void* stream;
  } parameters{target, value, bytes, stream};
  const CallScope scope(kRuntime, 51, "cudaMemsetAsync", &parameters, result);
  Op op;
  op.kind = OpKind::kFill;
  op.bytes = bytes;
  op.value = static_cast<uint32_t>(value);
  played::submit(played::stream_of(stream), op);
  return result;
}

RUNTIME_FUNCTION cudaMalloc(void** address, std::size_t bytes) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void** address;
    std::size_t bytes;
  } parameters{address, bytes};
  const CallScope scope(kRuntime, 20, "cudaMalloc", &parameters, result);
  return result = cuMemAlloc_v2(reinterpret_cast<uint64_t*>(address), bytes);
}

RUNTIME_FUNCTION cudaFree(void* address) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void* address;
  } parameters{address};
  const CallScope scope(kRuntime, 22, "cudaFree", &parameters, result);
  if (address == nullptr) return result;
  return result = cuMemFree_v2(reinterpret_cast<uint64_t>(address));
}

RUNTIME_FUNCTION cudaStreamSynchronize(void* stream) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void* stream;
  } parameters{stream};
  const CallScope scope(kRuntime, 131, "cudaStreamSynchronize", &parameters, result);
  played::wait_for(played::stream_of(stream)->busy_until_ns);
  return result;
}

RUNTIME_FUNCTION cudaDeviceSynchronize() {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  const CallScope scope(kRuntime, 165, "cudaDeviceSynchronize", nullptr, result);
  played::wait_for_context(played::stream_of(nullptr)->context);
  return result;
}

RUNTIME_FUNCTION cudaEventCreate(void** event) {
  *event = new Event;
  return 0;
}

RUNTIME_FUNCTION cudaEventRecord(void* event, void* stream) {
  int result = 0;
  struct {
    void *event, *stream;
  } parameters{event, stream};
  const CallScope scope(kRuntime, 135, "cudaEventRecord", &parameters, result);
  static_cast<Event*>(event)->ns = played::stream_of(stream)->busy_until_ns;
  return result;
}

RUNTIME_FUNCTION cudaEventQuery(void* event) {
  int result = 0;
  struct {
    void* event;
  } parameters{event};
  const CallScope scope(kRuntime, 138, "cudaEventQuery", &parameters, result);
  return result = played::boot_ns() < static_cast<Event*>(event)->ns ? 600 : 0;  // cudaErrorNotReady
}

RUNTIME_FUNCTION cudaEventSynchronize(void* event) {
  int result = 0;
  struct {
    void* event;
  } parameters{event};
  const CallScope scope(kRuntime, 137, "cudaEventSynchronize", &parameters, result);
  played::wait_for(static_cast<Event*>(event)->ns);
  return result;
}

RUNTIME_FUNCTION cudaStreamBeginCapture(void* stream, int mode) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void* stream;
    int mode;
  } parameters{stream, mode};
  const CallScope scope(kRuntime, 315, "cudaStreamBeginCapture", &parameters, result);
  return result = played::begin_capture(played::stream_of(stream));
}

RUNTIME_FUNCTION cudaStreamEndCapture(void* stream, void** graph) {
  int result = 0;
  struct {
    void* stream;
    void** graph;
  } parameters{stream, graph};
  const CallScope scope(kRuntime, 319, "cudaStreamEndCapture", &parameters, result);
  *graph = played::end_capture(played::stream_of(stream));
  return result;
}

RUNTIME_FUNCTION cudaGraphInstantiate(void** exec, void* graph, unsigned long long flags) {
  int result = 0;
  struct {
    void** exec;
    void* graph;
    unsigned long long flags;
  } parameters{exec, graph, flags};
  const CallScope scope(kRuntime, 443, "cudaGraphInstantiate", &parameters, result);
  *exec = played::instantiate(*static_cast<Graph*>(graph));
  return result;
}

RUNTIME_FUNCTION cudaGraphLaunch(void* exec, void* stream) {
  if (const int trouble = begin()) return trouble;
  int result = 0;
  struct {
    void *exec, *stream;
  } parameters{exec, stream};
  const CallScope scope(kRuntime, 311, "cudaGraphLaunch", &parameters, result);
  played::launch_graph(*static_cast<Graph*>(exec), played::stream_of(stream));
  return result;
}

RUNTIME_FUNCTION cudaGraphDestroy(void* graph) {
  int result = 0;
  struct {
    void* graph;
  } parameters{graph};
  const CallScope scope(kRuntime, 314, "cudaGraphDestroy", &parameters, result);
  played::destroy_graph(static_cast<Graph*>(graph), false);
  return result;
}

RUNTIME_FUNCTION cudaGraphExecDestroy(void* exec) {
  int result = 0;
  struct {
    void* exec;
  } parameters{exec};
  const CallScope scope(kRuntime, 313, "cudaGraphExecDestroy", &parameters, result);
  played::destroy_graph(static_cast<Graph*>(exec), true);
  return result;
}
