// Every way of HIP to launch a kernel, and to change one that waits in a graph. Each intercepted call is printed with what
// it returned, as hip_calls.hip does. Functions that came after HIP 5.2 are looked up, and called where the runtime has
// them: one program for all versions.
#include <dlfcn.h>
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" hipError_t hipLaunchKernel_spt(const void*, dim3, dim3, void**, size_t, hipStream_t);
extern "C" hipError_t hipLaunchCooperativeKernel_spt(const void*, dim3, dim3, void**, uint32_t, hipStream_t);

__global__ void scale(float* values, float factor) { values[threadIdx.x] *= factor; }

namespace {

hipError_t said(const char* name, hipError_t result) {
  std::printf("%d %s %d\n", gettid(), name, static_cast<int>(result));
  std::fflush(stdout);
  return result;
}
#define CALL(name, ...) said(#name, name(__VA_ARGS__))

// What HIP 5.2's headers do not declare.
struct LaunchConfig {
  dim3 grid, block;
  size_t shared_bytes;
  hipStream_t stream;
  void* attributes;
  unsigned int attribute_count;
};
struct DriverLaunchConfig {
  unsigned int grid[3], block[3], shared_bytes;
  hipStream_t stream;
  void* attributes;
  unsigned int attribute_count;
};
struct NodeParameters {
  int type, reserved[3];
  union {
    hipKernelNodeParams kernel;
    long long room[29];
  };
  long long reserved_last;
};

const void* const kStub = reinterpret_cast<const void*>(scale);
const dim3 kGrid(3, 2, 1), kBlock(64, 2, 1);
constexpr unsigned int kShared = 128;

struct Arguments {
  float* device = nullptr;
  float factor = 2;
  void* addresses[2] = {&device, &factor};
  size_t bytes = 12;
  struct {
    float* device;
    float factor;
  } buffer{};
  void* extra[5] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, &buffer, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
};

void launch_stubs(Arguments& arguments, hipStream_t stream) {
  void** const addresses = arguments.addresses;
  CALL(hipLaunchKernel, kStub, kGrid, kBlock, addresses, kShared, stream);
  CALL(hipLaunchKernel_spt, kStub, kGrid, kBlock, addresses, kShared, nullptr);
  CALL(hipExtLaunchKernel, kStub, kGrid, kBlock, addresses, kShared, stream, nullptr, nullptr, 0);
  CALL(hipLaunchCooperativeKernel, kStub, kGrid, kBlock, addresses, kShared, stream);
  CALL(hipLaunchCooperativeKernel_spt, kStub, kGrid, kBlock, addresses, kShared, stream);
  hipLaunchParams launch{const_cast<void*>(kStub), kGrid, kBlock, addresses, kShared, stream};
  CALL(hipLaunchCooperativeKernelMultiDevice, &launch, 1, 0);
  CALL(hipExtLaunchMultiKernelMultiDevice, &launch, 1, 0);
  CALL(hipStreamSynchronize, stream);
}

void launch_functions(const char* code_object, Arguments& arguments, hipStream_t stream) {
  hipModule_t module;
  hipFunction_t function;
  void** const extra = arguments.extra;
  CALL(hipModuleLoad, &module, code_object);
  CALL(hipModuleGetFunction, &function, module, "_Z5scalePff");
  CALL(hipModuleLaunchKernel, function, 3, 2, 1, 64, 2, 1, kShared, stream, nullptr, extra);
  CALL(hipExtModuleLaunchKernel, function, 192, 4, 1, 64, 2, 1, kShared, stream, nullptr, extra);
  CALL(hipHccModuleLaunchKernel, function, 192, 4, 1, 64, 2, 1, kShared, stream, nullptr, extra);
  CALL(hipStreamSynchronize, stream);
}

void change_graph(Arguments& arguments, hipStream_t stream) {
  hipGraph_t graph;
  hipGraphNode_t kernel_node, fill_node;
  hipGraphExec_t executable;
  hipKernelNodeParams kernel{kBlock, nullptr, const_cast<void*>(kStub), kGrid, arguments.addresses, kShared};
  hipMemsetParams fill{arguments.device, 1, 1, 0, 7, 512};
  CALL(hipGraphCreate, &graph, 0);
  CALL(hipGraphAddKernelNode, &kernel_node, graph, nullptr, 0, &kernel);
  CALL(hipGraphAddMemsetNode, &fill_node, graph, &kernel_node, 1, &fill);
  CALL(hipGraphInstantiate, &executable, graph, nullptr, nullptr, 0);
  kernel.gridDim = dim3(5, 1, 1);
  fill.width = 256;
  CALL(hipGraphExecKernelNodeSetParams, executable, kernel_node, &kernel);
  CALL(hipGraphExecMemsetNodeSetParams, executable, fill_node, &fill);
  CALL(hipGraphLaunch, executable, stream);
  CALL(hipStreamSynchronize, stream);
  CALL(hipGraphExecDestroy, executable);
  CALL(hipGraphDestroy, graph);
}

// By name, as programs that run with several versions do. Nothing is printed where the runtime has no such function.
template <typename... Parameters, typename... Passed>
void call_if_there(const char* name, hipError_t (*)(Parameters...), Passed... passed) {
  const auto found = reinterpret_cast<hipError_t (*)(Parameters...)>(dlsym(RTLD_DEFAULT, name));
  if (found != nullptr) said(name, found(passed...));
}
template <typename Signature>
Signature* of_type() { return nullptr; }

void launch_by_newer_functions(hipFunction_t function, Arguments& arguments, hipStream_t stream) {
  void** const addresses = arguments.addresses;
  call_if_there("hipModuleLaunchCooperativeKernel",
                of_type<hipError_t(hipFunction_t, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned, unsigned,
                                   hipStream_t, void**)>(),
                function, 3, 2, 1, 64, 2, 1, kShared, stream, addresses);
  LaunchConfig config{kGrid, kBlock, kShared, stream, nullptr, 0};
  call_if_there("hipLaunchKernelExC", of_type<hipError_t(const LaunchConfig*, const void*, void**)>(), &config, kStub,
                addresses);
  DriverLaunchConfig driver_config{{3, 2, 1}, {64, 2, 1}, kShared, stream, nullptr, 0};
  call_if_there("hipDrvLaunchKernelEx",
                of_type<hipError_t(const DriverLaunchConfig*, hipFunction_t, void**, void**)>(), &driver_config, function,
                addresses, nullptr);
  CALL(hipStreamSynchronize, stream);
}

void make_graph_by_newer_functions(Arguments& arguments, hipStream_t stream) {
  hipGraph_t graph;
  hipGraphNode_t node = nullptr;
  hipGraphExec_t executable;
  if (dlsym(RTLD_DEFAULT, "hipGraphAddNode") == nullptr) return;
  NodeParameters parameters{};
  parameters.kernel = {kBlock, nullptr, const_cast<void*>(kStub), kGrid, arguments.addresses, kShared};
  CALL(hipGraphCreate, &graph, 0);
  call_if_there("hipGraphAddNode",
                of_type<hipError_t(hipGraphNode_t*, hipGraph_t, const hipGraphNode_t*, size_t, NodeParameters*)>(), &node,
                graph, nullptr, 0, &parameters);
  CALL(hipGraphInstantiate, &executable, graph, nullptr, nullptr, 0);
  parameters.kernel.gridDim = dim3(5, 1, 1);
  call_if_there("hipGraphExecNodeSetParams", of_type<hipError_t(hipGraphExec_t, hipGraphNode_t, NodeParameters*)>(),
                executable, node, &parameters);
  CALL(hipGraphLaunch, executable, stream);
  CALL(hipStreamSynchronize, stream);
}

// By hipGetProcAddress; from some version on the flag 2 gives the twin whose null stream is the thread's own.
void launch_by_address(Arguments& arguments) {
  using GetProcAddress = hipError_t(const char*, void**, int, uint64_t, int*);
  using Launch = hipError_t(const void*, dim3, dim3, void**, size_t, hipStream_t);
  const auto get = reinterpret_cast<GetProcAddress*>(dlsym(RTLD_DEFAULT, "hipGetProcAddress"));
  if (get == nullptr) return;
  for (const uint64_t flags : {0, 2}) {
    void* found = nullptr;
    int status = -1;
    if (get("hipLaunchKernel", &found, 600, flags, &status) != hipSuccess || status != 0) continue;
    Dl_info function;
    if (dladdr(found, &function) == 0) continue;
    said(function.dli_sname,
         reinterpret_cast<Launch*>(found)(kStub, kGrid, kBlock, arguments.addresses, kShared, nullptr));
  }
  CALL(hipDeviceSynchronize);
}

}  // namespace

int main(int count, char** words) {
  if (count < 3) return 2;
  Arguments arguments;
  hipStream_t stream;
  CALL(hipMalloc, reinterpret_cast<void**>(&arguments.device), 1024);
  arguments.buffer = {arguments.device, arguments.factor};
  CALL(hipStreamCreate, &stream);
  if (std::strcmp(words[1], "stubs") == 0) launch_stubs(arguments, stream);
  if (std::strcmp(words[1], "functions") == 0) launch_functions(words[2], arguments, stream);
  if (std::strcmp(words[1], "graph") == 0) change_graph(arguments, stream);
  if (std::strcmp(words[1], "newer") == 0) {
    hipModule_t module;
    hipFunction_t function;
    CALL(hipModuleLoad, &module, words[2]);
    CALL(hipModuleGetFunction, &function, module, "_Z5scalePff");
    launch_by_newer_functions(function, arguments, stream);
    make_graph_by_newer_functions(arguments, stream);
    launch_by_address(arguments);
  }
  return 0;
}
