// A CUDA program with a profiler of its own, as torch.profiler is one: linked against libcupti, which it uses for a while.
//
//   cuda_program_with_tool HOW STEPS    how: "leaves" CUPTI for good afterwards, or "stays" subscribed
//
// It runs STEPS steps without its profiler, STEPS with it, and STEPS without it again, and says what the profiler saw. One
// that left waits with the last steps until the collector, if there is one, has CUPTI again.
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "cuda_program.h"

extern "C" {
int cuptiSubscribe(void** subscriber, void (*callback)(void*, int, uint32_t, const void*), void* user_data);
int cuptiUnsubscribe(void* subscriber);
int cuptiEnableDomain(uint32_t enable, void* subscriber, int domain);
int cuptiActivityRegisterCallbacks(void (*requested)(uint8_t**, std::size_t*, std::size_t*),
                                   void (*completed)(void*, uint32_t, uint8_t*, std::size_t, std::size_t));
int cuptiActivityEnable(int kind);
int cuptiActivityDisable(int kind);
int cuptiActivityFlushAll(uint32_t flag);
int cuptiActivityGetNextRecord(uint8_t* buffer, std::size_t bytes, uint32_t** record);
int cuptiFinalize();
int played_records_kernels();  // whether somebody has them recorded
}

namespace {

constexpr int kKernels = 10;
constexpr int kRuntimeCalls = 5;
constexpr int kRuntimeDomain = 2;
constexpr std::size_t kBufferBytes = 1 << 20;
std::atomic<int> kernels{0}, calls{0}, callbacks{0};
int refused = 0;

void on_call(void*, int, uint32_t, const void*) { ++callbacks; }

void request(uint8_t** buffer, std::size_t* bytes, std::size_t* most) {
  *buffer = static_cast<uint8_t*>(std::aligned_alloc(8, kBufferBytes));
  *bytes = kBufferBytes;
  *most = 0;
}

void complete(void*, uint32_t, uint8_t* buffer, std::size_t, std::size_t bytes) {
  uint32_t* record = nullptr;
  while (cuptiActivityGetNextRecord(buffer, bytes, &record) == 0) {
    if (*record == kKernels) ++kernels;
    if (*record == kRuntimeCalls) ++calls;
  }
  std::free(buffer);
}

void use(int result) { refused += result != 0; }

}  // namespace

int main(int count, char** arguments) {
  if (count < 3) return 2;
  const int steps = std::atoi(arguments[2]);
  const bool leaves = std::strcmp(arguments[1], "leaves") == 0;
  const bool is_recorded = std::getenv("WAVESCOPE_OUTPUT") != nullptr;
  register_kernels();
  run_steps(steps);
  void* subscriber = nullptr;
  use(cuptiSubscribe(&subscriber, on_call, nullptr));
  use(cuptiActivityRegisterCallbacks(request, complete));
  use(cuptiEnableDomain(1, subscriber, kRuntimeDomain));
  use(cuptiActivityEnable(kKernels));
  use(cuptiActivityEnable(kRuntimeCalls));
  run_steps(steps);
  use(cuptiActivityFlushAll(1));
  use(cuptiActivityDisable(kKernels));
  use(cuptiActivityDisable(kRuntimeCalls));
  if (leaves) {
    use(cuptiUnsubscribe(subscriber));
    use(cuptiFinalize());
    while (is_recorded && played_records_kernels() == 0) usleep(1000);
  }
  run_steps(steps);
  std::printf("refused %d kernels %d calls %d callbacks %s\n", refused, kernels.load(), calls.load(),
              callbacks > 0 ? "yes" : "no");
  return 4;
}
