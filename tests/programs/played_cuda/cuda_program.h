// What the programs of played CUDA call of the runtime, the driver and NVTX.
#ifndef WAVESCOPE_TESTS_CUDA_PROGRAM_H
#define WAVESCOPE_TESTS_CUDA_PROGRAM_H

#include <cstddef>
#include <cstdint>

struct dim3 {
  unsigned x = 1, y = 1, z = 1;
};

extern "C" {
void played_kernel(const void* function, const char* name, int registers, int static_shared_bytes, int local_bytes,
                   uint64_t duration_ns);
int cudaGetDeviceCount(int* count);
int cudaSetDevice(int device);
int cudaStreamCreate(void** stream);
int cudaStreamDestroy(void* stream);
int cudaLaunchKernel(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes, void* stream);
int played_launch(const void* function, dim3 grid, dim3 block, void** arguments, std::size_t shared_bytes, void* stream);
int cudaMemcpyAsync(void* target, const void* source, std::size_t bytes, int kind, void* stream);
int cudaMemcpyPeerAsync(void* target, int target_gpu, const void* source, int source_gpu, std::size_t bytes, void* stream);
int cudaMemsetAsync(void* target, int value, std::size_t bytes, void* stream);
int cudaMalloc(void** address, std::size_t bytes);
int cudaFree(void* address);
int cudaStreamSynchronize(void* stream);
int cudaDeviceSynchronize();
int cudaStreamBeginCapture(void* stream, int mode);
int cudaStreamEndCapture(void* stream, void** graph);
int cudaGraphInstantiate(void** exec, void* graph, unsigned long long flags);
int cudaGraphLaunch(void* exec, void* stream);
int cudaGraphDestroy(void* graph);
int cudaGraphExecDestroy(void* exec);
int cuModuleLoadData(void** module, const void* image);
int cuModuleGetFunction(void** function, void* module, const char* name);
int cuModuleUnload(void* module);
int cuLaunchKernel(void* function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x, unsigned block_y,
                   unsigned block_z, unsigned shared_bytes, void* stream, void** arguments, void** extra);
}

// NVTX as the header-only version 3 does it: it loads NVTX_INJECTION64_PATH at its first use.
class Range {
 public:
  explicit Range(const char* text);
  ~Range();
  Range(const Range&) = delete;
  Range& operator=(const Range&) = delete;
};

void mark(const char* text);

// Ends the program with what went wrong.
void check(int result, const char* call);
void register_kernels();
int try_launch(int kernel, void* stream, unsigned blocks);
void launch(int kernel, void* stream, unsigned blocks);
// `steps` steps of a range each with two kernels on either of two streams, and a fill.
void run_steps(int steps);

#endif
