// Intercepted calls reach the runtime unchanged, are recorded once, and know their kernels, from many threads at once.
#include <dlfcn.h>

#include <set>
#include <thread>
#include <vector>

#include "check.h"
#include "collector_hip/functions.h"
#include "collector_hip/hip_types.h"
#include "core/session.h"
#include "recorded_session.h"

using namespace wavescope::hip;

extern "C" {
int hipMemcpy(void* dst, const void* src, size_t bytes, int kind);
int hipMemcpyAsync(void* dst, const void* src, size_t bytes, int kind, void* stream);
int hipMemset3D(PitchedPointer target, int value, Extent extent);
int hipMemcpy3D(const Copy3D* copy);
int hipIpcOpenMemHandle(void** pointer, IpcHandle handle, uint32_t flags);
int hipLaunchKernel(const void* function, Dim3 grid, Dim3 block, void** arguments, size_t shared, void* stream);
int hipModuleUnload(void* module);
}

namespace {

using Call = WavescopeCallRecord;

bool is(const Call& call, Function function) { return call.function == static_cast<uint16_t>(function); }

Call last_call(const RecordedSession& session) { return session.records<Call>("calls").back(); }

int launch(const void* function) {
  return hipLaunchKernel(function, Dim3{1, 2, 3}, Dim3{64, 4, 1}, nullptr, 256, reinterpret_cast<void*>(uintptr_t{0x77}));
}

void* load_runtime() {
  CHECK(hipMemcpy(nullptr, nullptr, 0, 0) == 500);  // nobody has it yet
  void* runtime = dlopen(FAKE_HIP_RUNTIME, RTLD_NOW | RTLD_LOCAL);
  CHECK(runtime != nullptr);
  return runtime;
}

void structures_pass_by_value(const RecordedSession& session, void* runtime) {
  void* target = reinterpret_cast<void* (*)()>(dlsym(runtime, "fake_target"))();
  CHECK(hipMemset3D(PitchedPointer{target, 11, 12, 13}, -5, Extent{2, 3, 4}) == 0);
  const Call fill = last_call(session);
  CHECK(is(fill, Function::hipMemset3D) && fill.result == 0 && fill.flags == 0 && fill.end > fill.start);
  CHECK(fill.arguments[0] == reinterpret_cast<uint64_t>(target) && fill.arguments[1] == 24);
  CHECK(fill.arguments[2] == static_cast<uint64_t>(int64_t{-5}));

  IpcHandle handle{};
  handle.reserved[0] = 'a';
  handle.reserved[63] = 'z';
  void* opened = nullptr;
  CHECK(hipIpcOpenMemHandle(&opened, handle, 7) == 0 && opened == reinterpret_cast<void*>(uintptr_t{0x5000}));
  CHECK(last_call(session).arguments[0] == 0x5000 && last_call(session).arguments[1] == 7);
}

void nested_calls_count_once(const RecordedSession& session) {
  const std::size_t before = session.records<Call>("calls").size();
  CHECK(hipMemcpy(nullptr, nullptr, 13, 2) == 1);
  CHECK(session.records<Call>("calls").size() == before + 1);
  CHECK(is(last_call(session), Function::hipMemcpy) && last_call(session).result == 1);
  CHECK(wavescope::current_correlation() == 0);
  CHECK(hipMemcpyAsync(nullptr, nullptr, 1, 2, reinterpret_cast<void*>(uintptr_t{9})) == 0);
  CHECK(is(last_call(session), Function::hipMemcpyAsync) && last_call(session).stream == 9);
}

void unknown_functions_are_refused(const RecordedSession& session) {
  const std::size_t before = session.records<Call>("calls").size();
  CHECK(hipMemcpy3D(nullptr) == 500);
  CHECK(session.records<Call>("calls").size() == before);
}

void kernels_are_named_until_a_module_goes(const RecordedSession& session) {
  const auto name = [&] { return session.texts().at(last_call(session).arguments[0]); };
  for (int i = 0; i < 2; ++i) {
    CHECK(launch(&session) == 0);
    CHECK(name() == "first");
  }
  const Call call = last_call(session);
  CHECK(call.arguments[1] == 1 && call.arguments[2] == 2 && call.arguments[3] == 3 && call.arguments[5] == 256);
  CHECK(call.arguments[4] == (uint64_t{64} | uint64_t{4} << 21 | uint64_t{1} << 42));
  CHECK(hipModuleUnload(nullptr) == 0);
  CHECK(launch(&session) == 0);
  CHECK(name() == "second");
  CHECK(launch(nullptr) == 1);
  CHECK(last_call(session).arguments[0] == 0 && last_call(session).result == 1);
}

void threads_record_at_once(const RecordedSession& session) {
  constexpr int kThreads = 4, kLaunches = 5000;
  const std::size_t before = session.records<Call>("calls").size();
  static char functions[64];
  std::vector<std::thread> threads;
  for (int number = 0; number < kThreads; ++number) {
    threads.emplace_back([] {
      for (int i = 0; i < kLaunches; ++i) CHECK(launch(&functions[i % 64]) == 0);
    });
  }
  for (int i = 0; i < 20; ++i) CHECK(hipModuleUnload(nullptr) == 0);
  for (std::thread& thread : threads) thread.join();
  const auto calls = session.records<Call>("calls");
  CHECK(calls.size() - before == std::size_t{kThreads} * kLaunches + 20);
  std::set<uint64_t> correlations;
  for (const Call& call : calls) CHECK(call.flags == 0 && correlations.insert(call.correlation).second);
}

}  // namespace

int main() {
  const RecordedSession session("hip");
  void* runtime = load_runtime();
  structures_pass_by_value(session, runtime);
  nested_calls_count_once(session);
  unknown_functions_are_refused(session);
  kernels_are_named_until_a_module_goes(session);
  threads_record_at_once(session);
  return 0;
}
