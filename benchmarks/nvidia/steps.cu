// Steps of small kernels, each step waited for and then written to a log: what had run when the program was killed.
//   steps LOG SECONDS KERNELS_PER_STEP {launches|graph} [KERNELS_PER_SECOND]
// Each line of the log: kernels completed so far, CLOCK_BOOTTIME in ns. The first is of after the warm-up; kernels of the
// warm-up have another name. The log is written by one write() per step, so that a kill loses no line.
#include <cuda_runtime.h>
#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void warm_up_kernel(float* values) { values[threadIdx.x] += 1.0f; }
__global__ void step_kernel(float* values) { values[threadIdx.x] = values[threadIdx.x] * 0.5f + 1.0f; }

static int64_t now_ns() {
  timespec time;
  clock_gettime(CLOCK_BOOTTIME, &time);
  return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static void check(cudaError_t error) {
  if (error == cudaSuccess) return;
  fprintf(stderr, "steps: %s\n", cudaGetErrorString(error));
  exit(3);
}

static void say(int log, uint64_t kernels) {
  char line[64];
  const int length = snprintf(line, sizeof line, "%llu %lld\n", (unsigned long long)kernels, (long long)now_ns());
  if (write(log, line, length) != length) exit(4);
}

int main(int count, char** arguments) {
  if (count < 5) return 2;
  const int log = open(arguments[1], O_CREAT | O_TRUNC | O_WRONLY, 0644);
  const double seconds = atof(arguments[2]);
  const int per_step = atoi(arguments[3]);
  const bool is_graph = strcmp(arguments[4], "graph") == 0;
  const double per_second = count > 5 ? atof(arguments[5]) : 0;

  float* values;
  cudaStream_t stream;
  check(cudaMalloc(&values, 128 * sizeof(float)));
  check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
  warm_up_kernel<<<1, 128, 0, stream>>>(values);
  cudaGraphExec_t graph = nullptr;
  if (is_graph) {
    cudaGraph_t captured;
    check(cudaStreamBeginCapture(stream, cudaStreamCaptureModeGlobal));
    for (int i = 0; i < per_step; ++i) step_kernel<<<1, 128, 0, stream>>>(values);
    check(cudaStreamEndCapture(stream, &captured));
    check(cudaGraphInstantiate(&graph, captured, 0));
    check(cudaGraphUpload(graph, stream));
  }
  check(cudaStreamSynchronize(stream));

  uint64_t kernels = 0;
  say(log, kernels);
  printf("running %d\n", (int)getpid());
  fflush(stdout);
  const int64_t start = now_ns();
  const int64_t end = start + (int64_t)(seconds * 1e9);
  while (now_ns() < end) {
    if (is_graph) {
      check(cudaGraphLaunch(graph, stream));
    } else {
      for (int i = 0; i < per_step; ++i) step_kernel<<<1, 128, 0, stream>>>(values);
    }
    check(cudaGetLastError());
    check(cudaStreamSynchronize(stream));
    kernels += per_step;
    say(log, kernels);
    if (per_second > 0) {
      const int64_t ahead = start + (int64_t)((double)kernels / per_second * 1e9) - now_ns();
      if (ahead > 0) usleep((useconds_t)(ahead / 1000));
    }
  }
  printf("done %llu kernels\n", (unsigned long long)kernels);
  return 0;
}
