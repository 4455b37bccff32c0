// mpi_steps STEPS LATE_RANK LATE_US: each rank of an MPI job marks STEPS steps. In each it launches four products, waits for
// the other ranks, and launches a kernel that is named as the all-reduce of a collectives library; LATE_RANK sleeps before.
#include <hip/hip_runtime.h>
#include <mpi.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>

#define MUST(call)                                                                      \
  do {                                                                                  \
    const hipError_t error_ = (call);                                                   \
    if (error_ != hipSuccess) {                                                         \
      std::fprintf(stderr, "%d: %s: %s\n", __LINE__, #call, hipGetErrorString(error_)); \
      std::exit(1);                                                                     \
    }                                                                                   \
  } while (false)

extern "C" int roctxRangePushA(const char*) __attribute__((weak));
extern "C" int roctxRangePop() __attribute__((weak));

extern "C" __global__ void gemm(float* values) { values[threadIdx.x] *= 2; }
extern "C" __global__ void ncclDevKernel_AllReduce_Sum_f32_RING_LL(float* values) { values[threadIdx.x] += 1; }

int main(int count, char** arguments) {
  int rank = 0;
  MPI_Init(&count, &arguments);
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  const int steps = std::atoi(arguments[1]), late_rank = std::atoi(arguments[2]), late_us = std::atoi(arguments[3]);
  float* values = nullptr;
  MUST(hipMalloc(reinterpret_cast<void**>(&values), 4096));
  MPI_Barrier(MPI_COMM_WORLD);
  for (int step = 0; step < steps; step++) {
    char name[32];
    std::snprintf(name, sizeof name, "step %d", step);
    if (roctxRangePushA) roctxRangePushA(name);
    if (rank == late_rank) usleep(late_us);
    for (int i = 0; i < 4; i++) gemm<<<dim3(16), dim3(64)>>>(values);
    MUST(hipDeviceSynchronize());
    MPI_Barrier(MPI_COMM_WORLD);
    ncclDevKernel_AllReduce_Sum_f32_RING_LL<<<dim3(8), dim3(64)>>>(values);
    MUST(hipDeviceSynchronize());
    if (roctxRangePop) roctxRangePop();
  }
  MPI_Finalize();
  return 0;
}
