// HIP, one subject per run: hip_features SUBJECT. Exits 0 when every result is right; kernels compute nothing.
#include <hip/hip_runtime.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <numeric>
#include <thread>
#include <vector>

#define REQUIRE(condition)                                                               \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (false)
#define OK(call) REQUIRE((call) == hipSuccess)

__global__ void touch(int* data) {
  if (data) data[threadIdx.x] += 1;
}
__global__ void second_kernel(int* data) {
  if (data) data[threadIdx.x] *= 2;
}
__global__ void needs_scratch(int* data, int count) {
  int local[512];
  for (int index = 0; index < count; ++index) local[index & 511] = data[index];
  int sum = 0;
  for (int index = 0; index < count; ++index) sum += local[(index * 7) & 511];
  data[0] = sum;
}
__device__ int device_table[16];

namespace {

constexpr size_t count = 1 << 18;
constexpr size_t bytes = count * sizeof(int);

std::vector<int> numbered() {
  std::vector<int> values(count);
  std::iota(values.begin(), values.end(), 1);
  return values;
}

int device_count() {
  int devices = 0;
  OK(hipGetDeviceCount(&devices));
  return devices;
}

int* on_device(size_t size = bytes) {
  int* memory = nullptr;
  OK(hipMalloc(&memory, size));
  return memory;
}

void copies() {
  for (int device = 0; device < device_count(); ++device) {
    OK(hipSetDevice(device));
    const std::vector<int> source = numbered();
    std::vector<int> result(count);
    int* first = on_device();
    int* second = on_device();
    OK(hipMemcpy(first, source.data(), bytes, hipMemcpyHostToDevice));
    OK(hipMemcpy(second, first, bytes, hipMemcpyDeviceToDevice));
    OK(hipMemcpy(result.data(), second, bytes, hipMemcpyDeviceToHost));
    REQUIRE(source == result);
    OK(hipMemcpyDtoD(second + 3, first + 1, 1000));
    OK(hipMemcpy(result.data(), second, bytes, hipMemcpyDeviceToHost));
    REQUIRE(result[3] == source[1] && result[252] == source[250] && result[253] == source[253]);
    OK(hipFree(first));
    OK(hipFree(second));
  }
}

void fills() {
  int* memory = on_device();
  std::vector<unsigned char> result(bytes);
  OK(hipMemset(memory, 0x11, bytes));
  OK(hipMemset(memory, 0x5a, bytes - 3));
  OK(hipMemcpy(result.data(), memory, bytes, hipMemcpyDeviceToHost));
  REQUIRE(result[0] == 0x5a && result[bytes - 4] == 0x5a && result[bytes - 3] == 0x11);
  OK(hipMemsetD32(memory, 0x01020304, 100));
  OK(hipMemsetD16(reinterpret_cast<hipDeviceptr_t>(memory + 100), 0x0506, 7));
  OK(hipMemcpy(result.data(), memory, bytes, hipMemcpyDeviceToHost));
  REQUIRE(result[399] == 0x01 && result[400] == 0x06 && result[413] == 0x05 && result[414] == 0x5a);
  OK(hipFree(memory));
}

void rectangles() {
  unsigned char* memory = nullptr;
  size_t pitch = 0;
  OK(hipMallocPitch(reinterpret_cast<void**>(&memory), &pitch, 100, 64));
  std::vector<unsigned char> source(100 * 64), result(100 * 64);
  for (size_t index = 0; index < source.size(); ++index) source[index] = static_cast<unsigned char>(index * 3);
  OK(hipMemcpy2D(memory, pitch, source.data(), 100, 100, 64, hipMemcpyHostToDevice));
  OK(hipMemcpy2D(result.data(), 100, memory, pitch, 100, 64, hipMemcpyDeviceToHost));
  REQUIRE(source == result);
  OK(hipMemset2D(memory, pitch, 9, 50, 64));
  OK(hipMemcpy2D(result.data(), 100, memory, pitch, 100, 64, hipMemcpyDeviceToHost));
  REQUIRE(result[49] == 9 && result[50] == source[50] && result[6300] == 9 && result[6399] == source[6399]);
  OK(hipFree(memory));
}

void symbols() {
  int source[16], result[16];
  std::iota(source, source + 16, 5);
  OK(hipMemcpyToSymbol(HIP_SYMBOL(device_table), source, sizeof source));
  OK(hipMemcpyFromSymbol(result, HIP_SYMBOL(device_table), sizeof result));
  REQUIRE(std::memcmp(source, result, sizeof source) == 0);
}

// Two streams, the second waits for the first: 300 kernels.
void streams() {
  hipStream_t first, second;
  hipEvent_t start, end;
  OK(hipStreamCreate(&first));
  OK(hipStreamCreateWithFlags(&second, hipStreamNonBlocking));
  OK(hipEventCreate(&start));
  OK(hipEventCreate(&end));
  int* memory = on_device();
  OK(hipEventRecord(start, first));
  for (int index = 0; index < 200; ++index) touch<<<4, 64, 0, first>>>(memory);
  OK(hipEventRecord(end, first));
  OK(hipStreamWaitEvent(second, end, 0));
  for (int index = 0; index < 100; ++index) second_kernel<<<4, 64, 0, second>>>(memory);
  OK(hipStreamSynchronize(second));
  REQUIRE(hipEventQuery(end) == hipSuccess);
  float milliseconds = 0;
  OK(hipEventElapsedTime(&milliseconds, start, end));
  std::printf("%.3f\n", static_cast<double>(milliseconds));
  OK(hipStreamDestroy(first));
  OK(hipStreamDestroy(second));
  OK(hipFree(memory));
}

// 20 kernels and a copy in a graph, launched 5 times.
void graphs() {
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  OK(hipStreamCreate(&stream));
  const std::vector<int> source = numbered();
  std::vector<int> result(count);
  int* first = on_device();
  int* second = on_device();
  OK(hipMemcpy(first, source.data(), bytes, hipMemcpyHostToDevice));
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  for (int index = 0; index < 20; ++index) touch<<<4, 64, 0, stream>>>(first);
  OK(hipMemcpyAsync(second, first, bytes, hipMemcpyDeviceToDevice, stream));
  OK(hipStreamEndCapture(stream, &graph));
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int index = 0; index < 5; ++index) OK(hipGraphLaunch(executable, stream));
  OK(hipStreamSynchronize(stream));
  OK(hipMemcpy(result.data(), second, bytes, hipMemcpyDeviceToHost));
  REQUIRE(source == result);
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(graph));
}

void large_graph() {
  hipStream_t stream;
  hipGraph_t graph;
  hipGraphExec_t executable;
  OK(hipStreamCreate(&stream));
  OK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  for (int index = 0; index < 1500; ++index) touch<<<4, 64, 0, stream>>>(nullptr);
  OK(hipStreamEndCapture(stream, &graph));
  OK(hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0));
  for (int index = 0; index < 3; ++index) OK(hipGraphLaunch(executable, stream));
  OK(hipStreamSynchronize(stream));
  OK(hipGraphExecDestroy(executable));
  OK(hipGraphDestroy(graph));
}

void peers() {
  const int devices = device_count();
  REQUIRE(devices > 1);
  const std::vector<int> source = numbered();
  std::vector<int> result(count);
  OK(hipSetDevice(0));
  int* first = on_device();
  OK(hipMemcpy(first, source.data(), bytes, hipMemcpyHostToDevice));
  for (int device = 1; device < devices; ++device) {
    int can_access = 0;
    OK(hipDeviceCanAccessPeer(&can_access, 0, device));
    OK(hipSetDevice(device));
    int* there = on_device();
    OK(hipMemset(there, 0, bytes));
    OK(hipMemcpyPeer(there, device, first, 0, bytes));
    OK(hipDeviceSynchronize());
    OK(hipMemcpy(result.data(), there, bytes, hipMemcpyDeviceToHost));
    REQUIRE(source == result);
  }
}

void on_callback(hipStream_t, hipError_t, void* value) { *static_cast<int*>(value) = 42; }

void callbacks() {
  int value = 0;
  touch<<<1, 64>>>(nullptr);
  OK(hipStreamAddCallback(nullptr, on_callback, &value, 0));
  OK(hipStreamSynchronize(nullptr));
  REQUIRE(value == 42);
}

void cooperative() {
  int* memory = on_device();
  void* arguments[] = {&memory};
  OK(hipLaunchCooperativeKernel(reinterpret_cast<void*>(touch), dim3(1), dim3(64), arguments, 0, nullptr));
  OK(hipDeviceSynchronize());
}

void host_memory() {
  std::vector<char> source(1 << 20, 3), result(1 << 20);
  char* pinned = nullptr;
  OK(hipHostMalloc(reinterpret_cast<void**>(&pinned), source.size(), 0));
  std::memset(pinned, 7, source.size());
  char* memory = reinterpret_cast<char*>(on_device(source.size()));
  OK(hipHostRegister(source.data(), source.size(), 0));
  OK(hipMemcpyAsync(memory, source.data(), source.size(), hipMemcpyHostToDevice, nullptr));
  OK(hipMemcpy(result.data(), memory, source.size(), hipMemcpyDeviceToHost));
  REQUIRE(source == result);
  OK(hipHostUnregister(source.data()));
  OK(hipMemcpyAsync(memory, pinned, source.size(), hipMemcpyHostToDevice, nullptr));
  OK(hipMemcpy(result.data(), memory, source.size(), hipMemcpyDeviceToHost));
  REQUIRE(result[0] == 7 && result.back() == 7);
  int* managed = nullptr;
  OK(hipMallocManaged(&managed, 4096));
  managed[3] = 9;
  touch<<<1, 1>>>(managed);
  OK(hipDeviceSynchronize());
  REQUIRE(managed[3] == 9);
}

void values() {
  uint64_t* flag = nullptr;
  OK(hipExtMallocWithFlags(reinterpret_cast<void**>(&flag), 8, hipMallocSignalMemory));
  hipStream_t waiting, writing;
  OK(hipStreamCreate(&waiting));
  OK(hipStreamCreate(&writing));
  *flag = 0;
  OK(hipStreamWaitValue64(waiting, flag, 5, hipStreamWaitValueEq, ~uint64_t{0}));
  touch<<<1, 64, 0, waiting>>>(nullptr);
  usleep(20000);
  REQUIRE(hipStreamQuery(waiting) == hipErrorNotReady);
  OK(hipStreamWriteValue64(writing, flag, 5, 0));
  OK(hipStreamSynchronize(waiting));
  REQUIRE(*flag == 5);
}

// 4 threads with 2 streams of their own: 4,000 kernels.
void threads() {
  std::vector<std::thread> workers;
  for (int worker = 0; worker < 4; ++worker) {
    workers.emplace_back([worker] {
      OK(hipSetDevice(worker % device_count()));
      hipStream_t own[2];
      int* memory = on_device(1024);
      for (hipStream_t& stream : own) OK(hipStreamCreate(&stream));
      for (int index = 0; index < 1000; ++index) {
        touch<<<1, 64, 0, own[index & 1]>>>(memory);
        if (index % 100 == 0) OK(hipMemcpyAsync(memory + 1, memory, 64, hipMemcpyDeviceToDevice, own[index & 1]));
      }
      for (hipStream_t stream : own) OK(hipStreamSynchronize(stream));
    });
  }
  for (std::thread& worker : workers) worker.join();
}

void limits() {
  void* memory = nullptr;
  REQUIRE(hipMalloc(&memory, size_t{1} << 44) == hipErrorOutOfMemory);
  hipDeviceProp_t properties;
  OK(hipGetDeviceProperties(&properties, 0));
  std::printf("%s,%d,%d,%zu\n", properties.gcnArchName, properties.multiProcessorCount, properties.warpSize,
              properties.totalGlobalMem >> 20);
  hipStream_t stream;
  OK(hipStreamCreate(&stream));
  OK(hipMallocAsync(&memory, 1 << 20, stream));
  OK(hipFreeAsync(memory, stream));
  int* scratch = on_device();
  needs_scratch<<<16, 64>>>(scratch, 512);
  OK(hipDeviceSynchronize());
}

// A child of fork uses GPUs of its own; one that does not open them leaves the parent alone.
void processes() {
  if (fork() == 0) _exit(0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  for (int index = 0; index < 50; ++index) touch<<<1, 64>>>(nullptr);
  OK(hipDeviceSynchronize());
  if (child == 0) std::exit(0);
  const pid_t idle_child = fork();
  if (idle_child == 0) _exit(0);  // by exit HIP 6 waits for ever for a thread that only its parent has
  usleep(50000);
}

const struct {
  const char* name;
  void (*run)();
} subjects[] = {
    {"copies", copies},       {"fills", fills},       {"rectangles", rectangles},   {"symbols", symbols},
    {"streams", streams},     {"graphs", graphs},     {"peers", peers},             {"callbacks", callbacks},
    {"cooperative", cooperative}, {"host_memory", host_memory}, {"values", values}, {"threads", threads},
    {"limits", limits},       {"processes", processes}, {"large_graph", large_graph},
};

}  // namespace

int main(int argc, char** argv) {
  for (const auto& subject : subjects) {
    if (argc < 2 || std::strcmp(subject.name, argv[1]) != 0) continue;
    subject.run();
    return 0;
  }
  std::fprintf(stderr, "usage: hip_features SUBJECT\n");
  return 2;
}
