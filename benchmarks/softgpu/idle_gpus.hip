// Uses every GPU once, then does nothing for 3 seconds: prints GPUs and CPU milliseconds of that time.
#include <hip/hip_runtime.h>
#include <sys/resource.h>
#include <unistd.h>

#include <cstdio>

__global__ void touch() {}

namespace {

double cpu_milliseconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& time) { return static_cast<double>(time.tv_sec) * 1e3 + static_cast<double>(time.tv_usec) / 1e3; };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace

int main() {
  int devices = 0;
  if (hipGetDeviceCount(&devices) != hipSuccess) return 1;
  for (int device = 0; device < devices; ++device) {
    void* memory = nullptr;
    char bytes[4096] = {};
    if (hipSetDevice(device) != hipSuccess || hipMalloc(&memory, sizeof bytes) != hipSuccess) return 1;
    touch<<<1, 64>>>();
    if (hipMemcpy(memory, bytes, sizeof bytes, hipMemcpyHostToDevice) != hipSuccess) return 1;
    if (hipDeviceSynchronize() != hipSuccess) return 1;
  }
  sleep(1);
  const double before = cpu_milliseconds();
  sleep(3);
  std::printf("%d %.1f\n", devices, cpu_milliseconds() - before);
  return 0;
}
