// hip_load STREAMS THREADS LAUNCHES REPLAYS: on every GPU, from THREADS threads each with STREAMS streams, LAUNCHES kernels
// of four kinds, copies to the device and back, fills, events, and a graph of 20 kernels launched REPLAYS times.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

#define MUST(call)                                                                       \
  do {                                                                                   \
    const hipError_t error_ = (call);                                                    \
    if (error_ != hipSuccess) {                                                          \
      std::fprintf(stderr, "%d: %s: %s\n", __LINE__, #call, hipGetErrorString(error_)); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (false)

__global__ void scale(float* values, float factor) { values[threadIdx.x] *= factor; }
namespace model {
__global__ void attention(float* values, int heads) { values[threadIdx.x] += static_cast<float>(heads); }
}
template <typename Value, int Width>
__global__ void gemm(Value* values) { values[threadIdx.x] += Width; }

static int streams_each, launches, replays;
static std::mutex graphs;  // HIP 5.2.3 keeps what is captured, and the streams of graphs, without a lock

static void launch(int kind, float* values, hipStream_t stream) {
  switch (kind % 4) {
    case 0: scale<<<dim3(kind % 7 + 1), dim3(64), 0, stream>>>(values, 2.0f); break;
    case 1: model::attention<<<dim3(3, 2), dim3(32, 2), 0, stream>>>(values, 8); break;
    case 2: gemm<float, 128><<<dim3(4), dim3(128), 0, stream>>>(values); break;
    default: gemm<int, 64><<<dim3(1), dim3(64), 256, stream>>>(reinterpret_cast<int*>(values)); break;
  }
}

static void replay(float* values, hipStream_t stream) {
  const std::lock_guard<std::mutex> lock(graphs);
  hipGraph_t graph;
  hipGraphExec_t executable;
  MUST(hipStreamBeginCapture(stream, hipStreamCaptureModeThreadLocal));
  for (int i = 0; i < 20; i++) launch(i, values, stream);
  MUST(hipStreamEndCapture(stream, &graph));
  MUST(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int i = 0; i < replays; i++) MUST(hipGraphLaunch(executable, stream));
  MUST(hipStreamSynchronize(stream));
  MUST(hipGraphExecDestroy(executable));
  MUST(hipGraphDestroy(graph));
}

struct Stream {
  hipStream_t stream;
  float* values;
};
static const size_t bytes = 64 << 10;

static void use_stream(const Stream& mine, int first) {
  float* const values = mine.values;
  const hipStream_t stream = mine.stream;
  hipEvent_t before, after;
  std::vector<char> from(bytes, static_cast<char>(first)), to(bytes);
  MUST(hipEventCreate(&before));
  MUST(hipEventCreate(&after));
  MUST(hipMemcpyAsync(values, from.data(), bytes, hipMemcpyHostToDevice, stream));
  MUST(hipMemcpyAsync(to.data(), values, bytes, hipMemcpyDeviceToHost, stream));
  MUST(hipStreamSynchronize(stream));
  if (std::memcmp(from.data(), to.data(), bytes) != 0) std::exit(3);
  MUST(hipMemsetAsync(values, 0, bytes, stream));
  MUST(hipEventRecord(before, stream));
  for (int i = 0; i < launches; i++) launch(first + i, values, stream);
  MUST(hipEventRecord(after, stream));
  MUST(hipEventSynchronize(after));
  float milliseconds = 0;
  MUST(hipEventElapsedTime(&milliseconds, before, after));
  if (milliseconds <= 0) std::exit(4);
  if (replays > 0) replay(values, stream);
}

using Streams = std::vector<Stream>;

static Streams new_streams(int device) {
  Streams streams(streams_each);
  MUST(hipSetDevice(device));
  for (Stream& mine : streams) {
    MUST(hipStreamCreate(&mine.stream));
    MUST(hipMalloc(reinterpret_cast<void**>(&mine.values), bytes));
  }
  return streams;
}

static void use_streams(int device, int thread, const Streams& streams) {
  MUST(hipSetDevice(device));
  for (int i = 0; i < streams_each; i++) use_stream(streams[i], thread + i);
}

int main(int count, char** arguments) {
  if (count != 5) return 2;
  streams_each = std::atoi(arguments[1]);
  const int thread_count = std::atoi(arguments[2]);
  launches = std::atoi(arguments[3]);
  replays = std::atoi(arguments[4]);
  int devices = 0;
  MUST(hipGetDeviceCount(&devices));
  // It walks through all streams without a lock, too, in hipMalloc and hipDeviceSynchronize: these calls are made
  // while there is but one thread.
  std::vector<Streams> streams;
  for (int i = 0; i < devices * thread_count; i++) streams.push_back(new_streams(i / thread_count));
  std::vector<std::thread> threads;
  for (int i = 0; i < devices * thread_count; i++) {
    threads.emplace_back(use_streams, i / thread_count, i % thread_count, std::cref(streams[i]));
  }
  for (std::thread& thread : threads) thread.join();
  // The memory goes with the process: after graphs, hipFree of HIP 5.2.3 itself crashes in 1 to 2 of 100 runs, recorded or not.
  for (int i = 0; i < devices * thread_count; i++) {
    MUST(hipSetDevice(i / thread_count));
    MUST(hipDeviceSynchronize());
    for (const Stream& mine : streams[i]) MUST(hipStreamDestroy(mine.stream));
  }
  std::puts("done");
  return 0;
}
