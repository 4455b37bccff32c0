// Programs that use HIP, one per function; the first argument says which. Each intercepted call is printed with what it
// returned, in the order of the calls of its thread: what a recording of it must hold.
#include <dlfcn.h>
#include <hip/hip_ext.h>
#include <hip/hip_runtime.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

__global__ void scale(float* values, float factor) { values[threadIdx.x] *= factor; }
__global__ void shift(float* values, int amount) { values[threadIdx.x] += amount; }
__device__ float table[16];

namespace {

std::mutex output;

hipError_t said(const char* name, hipError_t result) {
  const std::lock_guard<std::mutex> lock(output);
  std::printf("%d %s %d\n", gettid(), name, static_cast<int>(result));
  std::fflush(stdout);
  return result;
}
#define CALL(name, ...) said(#name, name(__VA_ARGS__))
#define LAUNCH(kernel, grid, block, shared, stream, ...) \
  do {                                                   \
    kernel<<<grid, block, shared, stream>>>(__VA_ARGS__); \
    said("hipLaunchKernel", hipGetLastError());          \
  } while (false)

void memory() {
  void *device = nullptr, *host = nullptr, *pitched = nullptr, *managed = nullptr;
  size_t pitch = 0;
  float values[16] = {};
  CALL(hipSetDevice, 0);
  CALL(hipMalloc, &device, 4096);
  CALL(hipHostMalloc, &host, 4096, 0);
  CALL(hipMallocManaged, &managed, 256);
  CALL(hipMallocPitch, &pitched, &pitch, 100, 8);
  CALL(hipMemcpy, device, host, 4096, hipMemcpyHostToDevice);
  CALL(hipMemcpyAsync, host, device, 1000, hipMemcpyDeviceToHost, nullptr);
  CALL(hipMemcpyWithStream, host, device, 1001, hipMemcpyDeviceToHost, nullptr);
  CALL(hipMemcpyHtoD, device, host, 24);
  CALL(hipMemcpyDtoH, host, device, 25);
  CALL(hipMemcpyDtoD, pitched, device, 26);
  CALL(hipMemcpy2D, pitched, pitch, host, 100, 100, 8, hipMemcpyHostToDevice);
  CALL(hipMemcpyToSymbol, HIP_SYMBOL(table), values, sizeof values, 0, hipMemcpyHostToDevice);
  CALL(hipMemcpyFromSymbol, values, HIP_SYMBOL(table), 32, 4, hipMemcpyDeviceToHost);
  CALL(hipMemset, device, 7, 512);
  CALL(hipMemsetAsync, device, 8, 513, nullptr);
  CALL(hipMemsetD32, device, 9, 128);
  CALL(hipMemset2D, pitched, pitch, 1, 50, 8);
  hipPitchedPtr cube{};
  CALL(hipMalloc3D, &cube, make_hipExtent(64, 4, 2));
  CALL(hipMemset3D, cube, 3, make_hipExtent(64, 4, 2));
  CALL(hipDeviceSynchronize);
  CALL(hipMalloc, &managed, size_t{1} << 60);
  CALL(hipMemcpy, device, host, 16, static_cast<hipMemcpyKind>(77));
  CALL(hipSetDevice, 99);
  CALL(hipFree, reinterpret_cast<void*>(0x123));
  CALL(hipHostFree, host);
  CALL(hipFree, device);
}

void streams() {
  float* device = nullptr;
  hipStream_t first, second;
  hipEvent_t begin, end;
  float milliseconds = 0;
  CALL(hipMalloc, reinterpret_cast<void**>(&device), 1024);
  CALL(hipStreamCreate, &first);
  CALL(hipStreamCreateWithFlags, &second, hipStreamNonBlocking);
  CALL(hipEventCreate, &begin);
  CALL(hipEventCreateWithFlags, &end, hipEventDefault);
  CALL(hipEventRecord, begin, first);
  LAUNCH(scale, dim3(3, 2, 1), dim3(64, 2, 1), 128, first, device, 2.0f);
  CALL(hipEventRecord, end, first);
  CALL(hipStreamWaitEvent, second, end, 0);
  LAUNCH(shift, dim3(5), dim3(32), 0, second, device, 1);
  hipExtLaunchKernelGGL(scale, dim3(1), dim3(64), 0, second, nullptr, nullptr, 0, device, 3.0f);
  said("hipExtLaunchKernel", hipGetLastError());
  CALL(hipStreamSynchronize, second);
  CALL(hipEventSynchronize, end);
  CALL(hipEventElapsedTime, &milliseconds, begin, end);
  CALL(hipStreamQuery, first);
  CALL(hipEventQuery, end);
  LAUNCH(scale, dim3(1), dim3(4096), 0, first, device, 2.0f);  // too many threads
  CALL(hipEventDestroy, begin);
  CALL(hipEventDestroy, end);
  CALL(hipStreamDestroy, first);
  CALL(hipStreamDestroy, second);
  CALL(hipFree, device);
}

void graphs() {
  float* device = nullptr;
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  CALL(hipMalloc, reinterpret_cast<void**>(&device), 1024);
  CALL(hipStreamCreate, &stream);
  CALL(hipStreamBeginCapture, stream, hipStreamCaptureModeGlobal);
  for (int i = 0; i < 5; ++i) LAUNCH(scale, dim3(1), dim3(64), 0, stream, device, 2.0f);
  CALL(hipStreamEndCapture, stream, &graph);
  CALL(hipGraphInstantiate, &executable, graph, nullptr, nullptr, 0);
  for (int i = 0; i < 3; ++i) CALL(hipGraphLaunch, executable, stream);
  CALL(hipStreamSynchronize, stream);
  CALL(hipGraphExecDestroy, executable);
  CALL(hipGraphDestroy, graph);
}

void modules(const char* code_object) {
  hipModule_t module;
  hipFunction_t function;
  float* device = nullptr;
  CALL(hipMalloc, reinterpret_cast<void**>(&device), 1024);
  for (const char* name : {"_Z5scalePff", "_Z5shiftPfi"}) {
    CALL(hipModuleLoad, &module, code_object);
    CALL(hipModuleGetFunction, &function, module, name);
    uint64_t arguments[2] = {reinterpret_cast<uint64_t>(device), 0};
    size_t bytes = 12;
    void* extra[] = {HIP_LAUNCH_PARAM_BUFFER_POINTER, arguments, HIP_LAUNCH_PARAM_BUFFER_SIZE, &bytes, HIP_LAUNCH_PARAM_END};
    CALL(hipModuleLaunchKernel, function, 4, 2, 1, 64, 1, 1, 0, nullptr, nullptr, extra);
    CALL(hipExtModuleLaunchKernel, function, 256, 1, 1, 64, 1, 1, 0, nullptr, nullptr, extra);
    CALL(hipDeviceSynchronize);
    CALL(hipModuleUnload, module);
  }
}

void work_in_thread(int launches) {
  float* device = nullptr;
  hipStream_t stream;
  CALL(hipMalloc, reinterpret_cast<void**>(&device), 1024);
  CALL(hipStreamCreate, &stream);
  for (int i = 0; i < launches; ++i) LAUNCH(scale, dim3(1), dim3(64), 0, stream, device, 2.0f);
  CALL(hipStreamSynchronize, stream);
}

void threads() {
  std::vector<std::thread> workers;
  for (int i = 0; i < 4; ++i) workers.emplace_back(work_in_thread, 200);
  for (std::thread& worker : workers) worker.join();
}

void marked() {
  const auto push = reinterpret_cast<int (*)(const char*)>(dlsym(RTLD_DEFAULT, "roctxRangePushA"));
  const auto pop = reinterpret_cast<int (*)()>(dlsym(RTLD_DEFAULT, "roctxRangePop"));
  float* device = nullptr;
  CALL(hipMalloc, reinterpret_cast<void**>(&device), 1024);
  push("outer");
  LAUNCH(scale, dim3(1), dim3(64), 0, nullptr, device, 2.0f);
  push("inner");
  LAUNCH(shift, dim3(1), dim3(64), 0, nullptr, device, 2);
  pop();
  pop();
  CALL(hipDeviceSynchronize);
}

// A child that is forked before the runtime starts works as its parent does.
void forks() {
  const pid_t child = fork();
  work_in_thread(3);
  if (child == 0) std::exit(0);
  waitpid(child, nullptr, 0);
}

// Waits for a kernel that takes longer than the test.
void waits() {
  float* device = nullptr;
  CALL(hipMalloc, reinterpret_cast<void**>(&device), 1024);
  LAUNCH(scale, dim3(1), dim3(64), 0, nullptr, device, 2.0f);
  std::puts("waiting");
  std::fflush(stdout);
  CALL(hipDeviceSynchronize);
}

}  // namespace

int main(int count, char** words) {
  const std::string scenario = count > 1 ? words[1] : "";
  if (scenario == "memory") memory();
  else if (scenario == "streams") streams();
  else if (scenario == "graphs") graphs();
  else if (scenario == "modules") modules(words[2]);
  else if (scenario == "threads") threads();
  else if (scenario == "marked") marked();
  else if (scenario == "forks") forks();
  else if (scenario == "waits") waits();
  else return 2;
  return 0;
}
