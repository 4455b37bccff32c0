// Played CUDA behaves as CUPTI's documentation says: the test is a tool of it, as the collector is.
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "check.h"
#include "collector_cupti/cupti_library.h"
#include "played_cuda/engine.h"

using namespace wavescope::cupti;

extern "C" {
CuptiResult cuptiSubscribe(CuptiSubscriber*, CuptiCallback, void*);
CuptiResult cuptiUnsubscribe(CuptiSubscriber);
CuptiResult cuptiEnableCallback(uint32_t, CuptiSubscriber, CuptiCallbackDomain, uint32_t);
CuptiResult cuptiEnableDomain(uint32_t, CuptiSubscriber, CuptiCallbackDomain);
CuptiResult cuptiActivityRegisterCallbacks(CuptiBufferRequested, CuptiBufferCompleted);
CuptiResult cuptiActivityEnable(CuptiActivityKind);
CuptiResult cuptiActivityDisable(CuptiActivityKind);
CuptiResult cuptiActivityFlushAll(uint32_t);
CuptiResult cuptiActivityGetNextRecord(uint8_t*, std::size_t, CuptiActivity**);
CuptiResult cuptiActivityGetNumDroppedRecords(void*, uint32_t, std::size_t*);
CuptiResult cuptiActivitySetAttribute(uint32_t, std::size_t*, void*);
CuptiResult cuptiGetTimestamp(uint64_t*);
CuptiResult cuptiGetVersion(uint32_t*);
CuptiResult cuptiFinalize();
void played_kernel(const void*, const char*, int, int, int, uint64_t);
struct Dim3 {
  unsigned x, y, z;
};
int cudaLaunchKernel(const void*, Dim3, Dim3, void**, std::size_t, void*);
int cudaMemcpyAsync(void*, const void*, std::size_t, int, void*);
int cudaDeviceSynchronize();
int cudaStreamCreate(void**);
int cudaStreamBeginCapture(void*, int);
int cudaStreamEndCapture(void*, void**);
int cudaGraphInstantiate(void**, void*, unsigned long long);
int cudaGraphLaunch(void*, void*);
int cudaGraphDestroy(void*);
int cudaGraphExecDestroy(void*);
}

namespace {

constexpr auto kOk = CuptiResult::kSuccess;
char short_kernel, long_kernel;

struct Heard {
  std::vector<std::pair<std::string, uint32_t>> calls;  // "enter name", correlation
  std::map<uint32_t, int> resources;
  std::vector<KernelRecord> kernels;
  std::map<CuptiActivityKind, int> records;
  bool gives_buffers = true;
  bool finalizes_at_entry = false;
};
Heard heard;

void on_callback(void*, CuptiCallbackDomain domain, uint32_t id, const void* data) {
  if (domain == CuptiCallbackDomain::kResource) {
    ++heard.resources[id];
    return;
  }
  const auto& call = *static_cast<const ApiCallbackData*>(data);
  const bool is_entry = call.site == CallbackSite::kEnter;
  heard.calls.emplace_back((is_entry ? "enter " : "exit ") + std::string(call.function_name), call.correlation);
  if (is_entry && heard.finalizes_at_entry) cuptiFinalize();
}

alignas(8) uint8_t buffer[1 << 16];

void request(uint8_t** given, std::size_t* bytes, std::size_t* most) {
  std::memset(buffer, 0, sizeof buffer);
  *given = heard.gives_buffers ? buffer : nullptr;
  *bytes = heard.gives_buffers ? sizeof buffer : 0;
  *most = 0;
}

void complete(void*, uint32_t, uint8_t* given, std::size_t, std::size_t bytes) {
  CuptiActivity* record = nullptr;
  while (cuptiActivityGetNextRecord(given, bytes, &record) == kOk) {
    ++heard.records[record->kind];
    if (record->kind != CuptiActivityKind::kConcurrentKernel) continue;
    KernelRecord kernel;
    std::memcpy(&kernel, record, sizeof kernel);
    heard.kernels.push_back(kernel);
  }
}

void launch(const void* kernel, void* stream = nullptr) {
  CHECK(cudaLaunchKernel(kernel, {5, 2, 1}, {64, 1, 1}, nullptr, 128, stream) == 0);
}

std::string complaints() {
  std::ifstream file(std::getenv("PLAYED_CUDA_COMPLAINTS"));
  std::string all((std::istreambuf_iterator<char>(file)), {});
  std::ofstream(std::getenv("PLAYED_CUDA_COMPLAINTS"), std::ios::trunc);
  return all;
}

CuptiSubscriber subscribed() {
  heard = Heard();
  CuptiSubscriber subscriber = nullptr;
  CHECK(cuptiSubscribe(&subscriber, on_callback, nullptr) == kOk);
  CHECK(cuptiActivityRegisterCallbacks(request, complete) == kOk);
  return subscriber;
}

void end() {
  CHECK(cudaDeviceSynchronize() == 0);
  CHECK(cuptiActivityFlushAll(1) == kOk);
  CHECK(cuptiFinalize() == kOk);
}

void one_tool_at_a_time() {
  CuptiSubscriber first = subscribed(), second = nullptr;
  CHECK(cuptiSubscribe(&second, on_callback, nullptr) == CuptiResult::kMultipleSubscribers);
  CHECK(cuptiUnsubscribe(first) == kOk);
  CHECK(cuptiUnsubscribe(first) == CuptiResult::kInvalidParameter);
  CHECK(cuptiSubscribe(&second, on_callback, nullptr) == kOk);
  end();
}

void only_wanted_calls_are_told_and_nested_ones_share_their_number() {
  CuptiSubscriber subscriber = subscribed();
  CHECK(cuptiEnableCallback(1, subscriber, CuptiCallbackDomain::kRuntimeApi, 211) == kOk);
  CHECK(cuptiEnableCallback(1, subscriber, CuptiCallbackDomain::kRuntimeApi, 41) == kOk);
  CHECK(cuptiEnableCallback(1, subscriber, CuptiCallbackDomain::kDriverApi, 277) == kOk);
  launch(&short_kernel);
  CHECK(cudaDeviceSynchronize() == 0);
  CHECK(cudaMemcpyAsync(nullptr, nullptr, 10, 1, nullptr) == 0);
  using Calls = std::vector<std::pair<std::string, uint32_t>>;
  CHECK((heard.calls == Calls{{"enter cudaLaunchKernel", 1},
                              {"exit cudaLaunchKernel", 1},
                              {"enter cudaMemcpyAsync", 2},
                              {"enter cuMemcpyHtoDAsync_v2", 2},
                              {"exit cuMemcpyHtoDAsync_v2", 2},
                              {"exit cudaMemcpyAsync", 2}}));
  end();
}

void kernels_are_recorded_that_were_launched_while_enabled() {
  CuptiSubscriber subscriber = subscribed();
  CHECK(cuptiEnableCallback(1, subscriber, CuptiCallbackDomain::kRuntimeApi, 211) == kOk);
  launch(&short_kernel);
  CHECK(cuptiActivityEnable(CuptiActivityKind::kConcurrentKernel) == kOk);
  uint64_t before = 0, after = 0;
  CHECK(cuptiGetTimestamp(&before) == kOk);
  launch(&short_kernel);
  CHECK(cuptiActivityDisable(CuptiActivityKind::kConcurrentKernel) == kOk);
  launch(&short_kernel);
  CHECK(cudaDeviceSynchronize() == 0);
  CHECK(cuptiGetTimestamp(&after) == kOk);
  CHECK(cuptiActivityFlushAll(0) == kOk);
  CHECK(heard.kernels.size() == 1);
  const KernelRecord& kernel = heard.kernels[0];
  CHECK(kernel.correlation == 2 && kernel.grid[0] == 5 && kernel.grid[1] == 2 && kernel.block[0] == 64);
  CHECK(kernel.dynamic_shared_bytes == 128 && kernel.static_shared_bytes == 1024 && kernel.registers_per_thread == 40);
  CHECK(std::string(kernel.name) == "short" && kernel.stream == 7 && kernel.graph == 0);
  CHECK(before < kernel.start && kernel.end <= after && kernel.end - kernel.start == 2000);
  end();
}

void what_runs_comes_with_a_forced_flush_only() {
  CuptiSubscriber subscriber = subscribed();
  (void)subscriber;
  CHECK(cuptiActivityEnable(CuptiActivityKind::kConcurrentKernel) == kOk);
  launch(&long_kernel);
  CHECK(cuptiActivityFlushAll(0) == kOk);
  CHECK(heard.kernels.empty());
  CHECK(cuptiActivityFlushAll(1) == kOk);
  CHECK(heard.kernels.size() == 1 && heard.kernels[0].start == 0 && heard.kernels[0].end == 0);
  CHECK(cuptiFinalize() == kOk);
}

void without_a_buffer_records_are_dropped_and_counted_once() {
  subscribed();
  CHECK(cuptiActivityEnable(CuptiActivityKind::kConcurrentKernel) == kOk);
  heard.gives_buffers = false;
  void* stream = nullptr;
  CHECK(cudaStreamCreate(&stream) == 0);
  for (int at = 0; at < 3; ++at) launch(&short_kernel, stream);
  CHECK(cudaDeviceSynchronize() == 0);
  CHECK(cuptiActivityFlushAll(1) == kOk);
  std::size_t dropped = 0;
  CHECK(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == kOk && dropped == 3);
  CHECK(cuptiActivityGetNumDroppedRecords(nullptr, 0, &dropped) == kOk && dropped == 0);
  CHECK(heard.kernels.empty());
  end();
}

void a_graph_is_recorded_by_its_nodes_or_as_a_whole() {
  CuptiSubscriber subscriber = subscribed();
  CHECK(cuptiEnableDomain(1, subscriber, CuptiCallbackDomain::kResource) == kOk);
  CHECK(cuptiActivityEnable(CuptiActivityKind::kConcurrentKernel) == kOk);
  void *stream = nullptr, *graph = nullptr, *exec = nullptr;
  CHECK(cudaStreamCreate(&stream) == 0 && cudaStreamBeginCapture(stream, 0) == 0);
  launch(&short_kernel, stream);
  launch(&short_kernel, stream);
  CHECK(cudaStreamEndCapture(stream, &graph) == 0 && cudaGraphInstantiate(&exec, graph, 0) == 0);
  const auto count = [](ResourceCallback id) { return heard.resources[static_cast<uint32_t>(id)]; };
  CHECK(count(ResourceCallback::kGraphCreated) == 1 && count(ResourceCallback::kGraphNodeCreated) == 4);
  CHECK(count(ResourceCallback::kGraphNodeCloned) == 2 && count(ResourceCallback::kGraphExecCreated) == 1);
  CHECK(cudaGraphLaunch(exec, stream) == 0 && cudaDeviceSynchronize() == 0);
  CHECK(cuptiActivityFlushAll(0) == kOk);
  CHECK(heard.kernels.size() == 2 && heard.kernels[0].graph == heard.kernels[1].graph && heard.kernels[0].graph != 0);
  CHECK(heard.kernels[0].graph_node != heard.kernels[1].graph_node);
  CHECK(cuptiActivityEnable(CuptiActivityKind::kGraphTrace) == kOk);
  CHECK(cudaGraphLaunch(exec, stream) == 0 && cudaDeviceSynchronize() == 0);
  CHECK(cuptiActivityFlushAll(0) == kOk);
  CHECK(heard.kernels.size() == 2 && heard.records[CuptiActivityKind::kGraphTrace] == 1);
  CHECK(complaints() == "records of whole graphs were turned on or off while there were graphs\n");
  CHECK(cudaGraphExecDestroy(exec) == 0 && cudaGraphDestroy(graph) == 0);
  end();
  CHECK(complaints() == "cuptiFinalize while there were graphs\n");
}

void numbers_begin_anew_after_the_end_and_misuse_is_noticed() {
  CuptiSubscriber subscriber = subscribed();
  CHECK(cuptiEnableDomain(1, subscriber, CuptiCallbackDomain::kRuntimeApi) == kOk);
  launch(&short_kernel);
  CHECK(heard.calls.back().second == 1);
  CHECK(complaints().empty());
  heard.finalizes_at_entry = true;
  launch(&short_kernel);
  CHECK(complaints() == "cuptiFinalize inside of a callback that is not the exit of a call\n");
  const auto calls = heard.calls.size();
  launch(&short_kernel);
  CHECK(heard.calls.size() == calls);
  subscriber = subscribed();
  CHECK(cuptiEnableDomain(1, subscriber, CuptiCallbackDomain::kRuntimeApi) == kOk);
  launch(&short_kernel);
  CHECK(heard.calls.back().second == 1);
  end();
}

void buffers_that_should_be_zero_are_looked_at() {
  subscribed();
  CHECK(cuptiActivityEnable(CuptiActivityKind::kConcurrentKernel) == kOk);
  uint8_t is_zeroed = 1;
  std::size_t bytes = sizeof is_zeroed;
  CHECK(cuptiActivitySetAttribute(5, &bytes, &is_zeroed) == kOk);
  CHECK(cuptiActivityRegisterCallbacks(
            [](uint8_t** given, std::size_t* size, std::size_t* most) {
              request(given, size, most);
              buffer[100] = 1;
            },
            complete) == kOk);
  launch(&short_kernel);
  CHECK(cudaDeviceSynchronize() == 0 && cuptiActivityFlushAll(0) == kOk);
  CHECK(complaints() == "a buffer that should hold zeros does not\n");
  end();
}

}  // namespace

int main() {
  const std::string file = "/tmp/played_cuda_complaints." + std::to_string(getpid());
  setenv("PLAYED_CUDA_COMPLAINTS", file.c_str(), 1);
  played_kernel(&short_kernel, "short", 40, 1024, 0, 2000);
  played_kernel(&long_kernel, "long", 40, 1024, 0, 30'000'000'000);
  uint32_t version = 0;
  CHECK(cuptiGetVersion(&version) == kOk && (version == 28 || version >= kVersion13_0));
  one_tool_at_a_time();
  only_wanted_calls_are_told_and_nested_ones_share_their_number();
  kernels_are_recorded_that_were_launched_while_enabled();
  without_a_buffer_records_are_dropped_and_counted_once();
  numbers_begin_anew_after_the_end_and_misuse_is_noticed();
  buffers_that_should_be_zero_are_looked_at();
  CHECK(complaints().empty());
  a_graph_is_recorded_by_its_nodes_or_as_a_whole();
  what_runs_comes_with_a_forced_flush_only();  // last, for its kernel runs on
  CHECK(complaints() == "cuptiFinalize while there were graphs\n");
  std::remove(file.c_str());
  return 0;
}
