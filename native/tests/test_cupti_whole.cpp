// The whole collector on played CUDA, in one process with its program: threads that launch while recording is paused,
// resumed and yielded to another tool. Run under the sanitizers, ThreadSanitizer too.
#include <cstdlib>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "collector_cupti/collector.h"
#include "core/session.h"
#include "played_cuda/engine.h"
#include "recorded_session.h"

using namespace wavescope::cupti;

extern "C" {
void played_kernel(const void*, const char*, int, int, int, uint64_t);
int played_launch(const void*, played::Size3, played::Size3, void**, std::size_t, void*);
int cudaDeviceSynchronize();
int cudaStreamCreate(void**);
int cudaStreamBeginCapture(void*, int);
int cudaStreamEndCapture(void*, void**);
int cudaGraphInstantiate(void**, void*, unsigned long long);
int cudaGraphLaunch(void*, void*);
int cudaGraphDestroy(void*);
int cudaGraphExecDestroy(void*);
CuptiResult cuptiSubscribe(CuptiSubscriber*, CuptiCallback, void*);  // the collector's, as a program's tool would find it
CuptiResult cuptiUnsubscribe(CuptiSubscriber);
}

namespace {

constexpr int kThreads = 4;
constexpr int kRounds = 60;
constexpr uint64_t kCutInTwo = kThreads * 2 * 8;  // kernels: of each thread a graph launch, whenever CUPTI changes hands
char kernels[2];

void launch(int kernel, void* stream) {
  CHECK(played_launch(&kernels[kernel], {3, 1, 1}, {32, 1, 1}, nullptr, 0, stream) == 0);
}

// Per round three kernels and a graph of two.
void run_program() {
  void *stream = nullptr, *graph = nullptr, *exec = nullptr;
  CHECK(cudaStreamCreate(&stream) == 0 && cudaStreamBeginCapture(stream, 0) == 0);
  launch(0, stream);
  launch(1, stream);
  CHECK(cudaStreamEndCapture(stream, &graph) == 0 && cudaGraphInstantiate(&exec, graph, 0) == 0);
  for (int round = 0; round < kRounds; ++round) {
    for (int at = 0; at < 3; ++at) launch(at % 2, stream);
    CHECK(cudaGraphLaunch(exec, stream) == 0);
    if (round % 8 == 7) CHECK(cudaDeviceSynchronize() == 0);
  }
  CHECK(cudaDeviceSynchronize() == 0);
  CHECK(cudaGraphExecDestroy(exec) == 0 && cudaGraphDestroy(graph) == 0);
}

void disturb() {
  wavescope::Session& session = *wavescope::Session::current();
  for (int at = 0; at < 3; ++at) {
    session.control().pause();
    std::this_thread::yield();
    session.control().resume();
  }
  CuptiSubscriber subscriber = nullptr;
  CHECK(cuptiSubscribe(
            &subscriber, [](void*, CuptiCallbackDomain, uint32_t, const void*) {}, nullptr) == CuptiResult::kSuccess);
  CHECK(cuptiUnsubscribe(subscriber) == CuptiResult::kSuccess);
}

struct Counted {
  uint64_t seen = 0, timed = 0, skipped = 0, lost = 0;
};

Counted counted(const RecordedSession& session) {
  Counted all;
  for (const auto& row : session.records<WavescopeCounterRecord>("counters")) {
    all.seen += row.seen;
    all.timed += row.timed;
    for (const uint64_t number : row.skipped) all.skipped += number;
    for (const uint64_t number : row.lost) all.lost += number;
  }
  return all;
}

uint64_t recorded_kernels(const RecordedSession& session) {
  uint64_t count = 0;
  for (const auto& record : session.records<WavescopeGraphOpRecord>("ops")) count += record.op.kind == WAVESCOPE_OP_DISPATCH;
  return count;
}

}  // namespace

int main() {
  const RecordedSession session("standard");
  const std::string complaints = "/tmp/wavescope-complaints-" + std::to_string(getpid());
  setenv("PLAYED_CUDA_COMPLAINTS", complaints.c_str(), 1);
  setenv("CUDA_INJECTION64_PATH", "linked", 1);
  setenv("WAVESCOPE_CUPTI", PLAYED_CUPTI, 1);
  setenv("WAVESCOPE_FLUSH_MS", "10", 1);
  played_kernel(&kernels[0], "left", 16, 0, 0, 3000);
  played_kernel(&kernels[1], "right", 16, 0, 0, 1000);
  CHECK(cudaDeviceSynchronize() == 0);
  CHECK(Collector::current() != nullptr);

  std::vector<std::thread> threads;
  for (int at = 0; at < kThreads; ++at) threads.emplace_back(run_program);
  disturb();
  for (auto& thread : threads) thread.join();
  CHECK(Collector::current()->finish(60'000'000'000));

  const Counted all = counted(session);
  CHECK(all.seen <= uint64_t{kThreads} * kRounds * 5);
  CHECK(all.timed == recorded_kernels(session));
  // A call during which CUPTI changes hands is seen by half: its end, where it is counted, or its begin.
  const uint64_t accounted = all.timed + all.skipped + all.lost;
  CHECK(accounted + kCutInTwo >= all.seen && accounted <= all.seen + kCutInTwo);
  std::ifstream file(complaints);
  CHECK(!file.good());
  return 0;
}
