// What recorded CUDA programs do, one scenario each; tests know how often each kernel runs.
//   cuda_scenarios NAME [ARGUMENT]
#include <cuda_runtime.h>
#include <dlfcn.h>
#include <nvtx3/nvToolsExt.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

__global__ void scale_kernel(float* values) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = values[threadIdx.x];
  values[threadIdx.x] = shared[threadIdx.x] * 0.5f;
}
template <typename T>
__global__ void shift_kernel(T* values) {
  values[threadIdx.x] += T(1);
}
__global__ void node_kernel(float* values) { values[threadIdx.x] += 2.0f; }
__global__ void before_kernel(float* values) { values[threadIdx.x] += 1.0f; }
__global__ void paused_kernel(float* values) { values[threadIdx.x] += 1.0f; }
__global__ void after_kernel(float* values) { values[threadIdx.x] += 1.0f; }
__global__ void child_kernel(float* values) { values[threadIdx.x] += 1.0f; }
__global__ void spin_kernel(long long cycles) {
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
  fprintf(stderr, "cuda_scenarios: %s\n", cudaGetErrorString(error));
  exit(3);
}

static float* new_values() {
  float* values;
  check(cudaMalloc(&values, 1 << 20));
  return values;
}

// 40 launches of one kernel, 25 of another in a second stream, 4 + 3 copies and 5 fills, in NVTX ranges.
static void plain() {
  float* values = new_values();
  void* host;
  cudaStream_t second;
  check(cudaMallocHost(&host, 1 << 20));
  check(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
  nvtxRangePushA("launching");
  for (int i = 0; i < 40; ++i) scale_kernel<<<dim3(3, 2, 1), dim3(64, 2, 1), 1024>>>(values);
  nvtxRangePushA("inner");
  for (int i = 0; i < 25; ++i) shift_kernel<float><<<1, 32, 0, second>>>(values);
  nvtxRangePop();
  nvtxRangePop();
  check(cudaDeviceSynchronize());
  nvtxMarkA("launched");
  for (int i = 0; i < 4; ++i) check(cudaMemcpyAsync(values, host, 1 << 20, cudaMemcpyHostToDevice, second));
  for (int i = 0; i < 3; ++i) check(cudaMemcpyAsync(host, values, 1 << 19, cudaMemcpyDeviceToHost, second));
  for (int i = 0; i < 5; ++i) check(cudaMemsetAsync(values, 0, 4096, second));
  check(cudaDeviceSynchronize());
}

struct Replayed {
  cudaStream_t stream;
  cudaGraphExec_t graph;
};

static Replayed new_graph() {
  float* values = new_values();
  Replayed made;
  cudaGraph_t captured;
  check(cudaStreamCreate(&made.stream));
  check(cudaStreamBeginCapture(made.stream, cudaStreamCaptureModeGlobal));
  for (int i = 0; i < 7; ++i) node_kernel<<<1, 64, 0, made.stream>>>(values);
  check(cudaStreamEndCapture(made.stream, &captured));
  check(cudaGraphInstantiate(&made.graph, captured, 0));
  return made;
}

// A graph of 7 kernels, replayed `argument` times.
static void graph(int replays) {
  const Replayed made = new_graph();
  for (int i = 0; i < replays; ++i) check(cudaGraphLaunch(made.graph, made.stream));
  check(cudaStreamSynchronize(made.stream));
}

// `argument` kernels in a row, waited for after every thousand.
static void flood(int kernels) {
  float* values = new_values();
  for (int i = 1; i <= kernels; ++i) {
    before_kernel<<<1, 32>>>(values);
    if (i % 1000 == 0) check(cudaDeviceSynchronize());
  }
  check(cudaDeviceSynchronize());
}

// A graph for `seconds`, each replay waited for, about 2000 a second: says how many there were.
static void long_graph(int seconds) {
  const Replayed made = new_graph();
  const int64_t start = now_ns();
  int64_t replays = 0;
  for (; now_ns() < start + seconds * 1000000000LL; ++replays) {
    check(cudaGraphLaunch(made.graph, made.stream));
    check(cudaStreamSynchronize(made.stream));
    const int64_t ahead = start + (replays + 1) * 500000 - now_ns();
    if (ahead > 0) usleep((useconds_t)(ahead / 1000));
  }
  printf("replays %lld\n", (long long)replays);
}

static void call_if_there(const char* name) {
  using Switch = int (*)(uint64_t);
  if (auto* function = reinterpret_cast<Switch>(dlsym(RTLD_DEFAULT, name))) function(0);
}

// 10 kernels, a pause with 30, then kernels for two seconds after recording was resumed.
static void pause_and_resume() {
  float* values = new_values();
  for (int i = 0; i < 10; ++i) before_kernel<<<1, 32>>>(values);
  check(cudaDeviceSynchronize());
  call_if_there("roctxProfilerPause");
  for (int i = 0; i < 30; ++i) paused_kernel<<<1, 32>>>(values);
  check(cudaDeviceSynchronize());
  call_if_there("roctxProfilerResume");
  int launched = 0;
  for (const int64_t end = now_ns() + 2000000000; now_ns() < end; ++launched) {
    after_kernel<<<1, 32>>>(values);
    check(cudaDeviceSynchronize());
    usleep(1000);
  }
  printf("after %d\n", launched);
}

// A graph, instantiated before the first of `argument` pauses: 40 replays, a pause with 40, and replays for half a second
// after each. Says how many there were in pauses and outside of them.
static void pause_graph(int pauses) {
  const Replayed made = new_graph();
  int recorded = 0, paused = 0;
  const auto replay = [&](int& count) {
    check(cudaGraphLaunch(made.graph, made.stream));
    check(cudaStreamSynchronize(made.stream));
    ++count;
  };
  for (int i = 0; i < 40; ++i) replay(recorded);
  for (int pause = 0; pause < pauses; ++pause) {
    call_if_there("roctxProfilerPause");
    for (int i = 0; i < 40; ++i) replay(paused);
    call_if_there("roctxProfilerResume");
    for (const int64_t end = now_ns() + 500000000; now_ns() < end; usleep(500)) replay(recorded);
  }
  printf("recorded %d paused %d\n", recorded, paused);
}

// The child of a fork from before CUDA was used has a GPU of its own; one from after it leaves CUDA alone.
static void forks() {
  fflush(stdout);
  if (const pid_t child = fork(); child == 0) {
    float* values = new_values();
    for (int i = 0; i < 12; ++i) child_kernel<<<1, 32>>>(values);
    check(cudaDeviceSynchronize());
    exit(0);
  } else {
    waitpid(child, nullptr, 0);
  }
  float* values = new_values();
  for (int i = 0; i < 20; ++i) before_kernel<<<1, 32>>>(values);
  check(cudaDeviceSynchronize());
  if (const pid_t child = fork(); child == 0) exit(7);
  int status = 0;
  wait(&status);
  for (int i = 0; i < 15; ++i) after_kernel<<<1, 32>>>(values);
  check(cudaDeviceSynchronize());
  printf("child %d\n", WEXITSTATUS(status));
}

// 20 kernels, then another program in its place, without having waited for any buffer, that runs 15 of another kind.
static void becomes_another() {
  float* values = new_values();
  for (int i = 0; i < 20; ++i) before_kernel<<<1, 32>>>(values);
  check(cudaDeviceSynchronize());
  execl("/proc/self/exe", "cuda_scenarios", "another", nullptr);
  exit(4);
}
static void another() {
  float* values = new_values();
  for (int i = 0; i < 15; ++i) after_kernel<<<1, 32>>>(values);
  check(cudaDeviceSynchronize());
}

// Kernels between two readings of the clock: "before after" a line.
static void brackets(int kernels) {
  spin_kernel<<<1, 1>>>(1000);
  check(cudaDeviceSynchronize());
  for (int i = 0; i < kernels; ++i) {
    const int64_t before = now_ns();
    spin_kernel<<<1, 1>>>(50000);
    check(cudaDeviceSynchronize());
    printf("%lld %lld\n", (long long)before, (long long)now_ns());
    usleep(5000);
  }
}

// Kernels until somebody kills it; each line says how many have run, and when.
static void endless() {
  float* values = new_values();
  check(cudaDeviceSynchronize());
  printf("running %d\n", (int)getpid());
  for (long long kernels = 0;; kernels += 50) {
    printf("%lld %lld\n", kernels, (long long)now_ns());
    fflush(stdout);
    for (int i = 0; i < 50; ++i) before_kernel<<<1, 32>>>(values);
    check(cudaDeviceSynchronize());
  }
}

int main(int count, char** arguments) {
  const char* name = count > 1 ? arguments[1] : "";
  const int argument = count > 2 ? atoi(arguments[2]) : 0;
  if (strcmp(name, "plain") == 0) plain();
  else if (strcmp(name, "graph") == 0) graph(argument);
  else if (strcmp(name, "flood") == 0) flood(argument);
  else if (strcmp(name, "long_graph") == 0) long_graph(argument);
  else if (strcmp(name, "pause") == 0) pause_and_resume();
  else if (strcmp(name, "pause_graph") == 0) pause_graph(argument);
  else if (strcmp(name, "forks") == 0) forks();
  else if (strcmp(name, "becomes_another") == 0) becomes_another();
  else if (strcmp(name, "another") == 0) another();
  else if (strcmp(name, "brackets") == 0) brackets(argument);
  else if (strcmp(name, "endless") == 0) endless();
  else return 2;
  printf("done\n");
  return 0;
}
