// Kernels between two readings of the host's clock: how far recorded times of the GPU leave the bracket.
//   brackets LOG SECONDS {idle|busy}
// Each line of the log: CLOCK_BOOTTIME before the launch and after the wait, and the GPU's own %globaltimer at the kernel's
// start and end. `busy` keeps another stream full of work meanwhile; `idle` rests 20 ms before each bracket.
#include <cuda_runtime.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__device__ uint64_t global_ns() {
  uint64_t value;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(value));
  return value;
}

__global__ void bracketed_kernel(volatile uint64_t* times, long long cycles) {
  times[0] = global_ns();
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
  times[1] = global_ns();
}

__global__ void busy_kernel(long long cycles) {
  const long long start = clock64();
  while (clock64() - start < cycles) {
  }
}

static int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "brackets: %s\n", cudaGetErrorString(error));
  exit(3);
}

int main(int count, char** arguments) {
  if (count < 4) return 2;
  FILE* log = fopen(arguments[1], "w");
  const double seconds = atof(arguments[2]);
  const bool is_busy = strcmp(arguments[3], "busy") == 0;
  uint64_t* times;
  cudaStream_t stream, other;
  check(cudaSetDeviceFlags(cudaDeviceScheduleSpin));
  check(cudaHostAlloc(&times, 2 * sizeof *times, cudaHostAllocDefault));
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  check(cudaStreamCreateWithFlags(&other, cudaStreamNonBlocking));
  busy_kernel<<<1, 32, 0, other>>>(1000);
  busy_kernel<<<1, 32, 0, stream>>>(1000);
  check(cudaDeviceSynchronize());
  const int64_t end = now_ns() + (int64_t)(seconds * 1e9);
  for (int64_t number = 0; now_ns() < end; ++number) {
    if (is_busy) {
      for (int i = 0; i < 8; ++i) busy_kernel<<<16, 128, 0, other>>>(10000);
    } else {
      usleep(20000);
    }
    const int64_t before = now_ns();
    bracketed_kernel<<<1, 1, 0, stream>>>(times, 10000);
    check(cudaStreamSynchronize(stream));
    const int64_t after = now_ns();
    fprintf(log, "%lld %lld %llu %llu\n", (long long)before, (long long)after, (unsigned long long)times[0],
            (unsigned long long)times[1]);
    if (is_busy) {
      check(cudaStreamSynchronize(other));
      usleep(1000);
    }
  }
  check(cudaDeviceSynchronize());
  fclose(log);
  printf("done\n");
  return 0;
}
