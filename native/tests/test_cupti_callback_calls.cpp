// Calls of CUDA as records: in the file while they are open, with their arguments, results and correlation ids.
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "collector_cupti/parameters/copies.h"
#include "collector_cupti/parameters/launches.h"
#include "collector_cupti/parameters/memory_and_streams.h"
#include "core/clock.h"
#include "played_cupti_calls.h"

namespace {

using namespace played;
using namespace wavescope::cupti::parameters;

std::vector<WavescopeCallRecord> calls(const RecordedSession& recorded) {
  return recorded.records<WavescopeCallRecord>("calls");
}

uint16_t number(CuptiCallbackDomain domain, uint32_t id) {
  return static_cast<uint16_t>(kFirstFunction + number_of(*find_call_function(domain, id)));
}

void launches_keep_their_shape(const RecordedSession& recorded, Collector& collector) {
  OnStream<RuntimeLaunch> parameters{};
  parameters.call = {nullptr, {10, 20, 30}, {256, 2, 1}, nullptr, 4096};
  parameters.stream = reinterpret_cast<void*>(0x5712);
  wavescope::thread_state().marker = 9;
  const uint64_t before_ns = wavescope::boottime_ns();
  Call call(collector.callbacks, kRuntime, kLaunchKernel, 5, &parameters, 0, "_Z4gemmPf");
  WavescopeCallRecord record = calls(recorded).back();
  CHECK(record.flags == WAVESCOPE_CALL_OPEN && record.end == 0 && record.start >= before_ns);
  CHECK(record.function == number(kRuntime, kLaunchKernel) && record.thread == wavescope::current_thread());
  CHECK(record.correlation == 5 && record.stream == 0x5712 && record.marker == 9);
  CHECK(recorded.texts().at(record.arguments[0]) == "_Z4gemmPf");
  CHECK(record.arguments[1] == 10 && record.arguments[2] == 20 && record.arguments[3] == 30);
  CHECK(record.arguments[4] == (256ull | 2ull << 21 | 1ull << 42) && record.arguments[5] == 4096);
  CHECK(wavescope::current_correlation() == 5);
  call.leave();
  wavescope::thread_state().marker = 0;
  record = calls(recorded).back();
  CHECK(record.flags == 0 && record.end >= record.start && record.result == 0);
  CHECK(wavescope::current_correlation() == 0);
  const std::vector<std::string> facts = recorded.facts("\"fact\":\"function\"");
  CHECK(facts.size() == 1);
  CHECK(facts[0] == "{\"fact\":\"function\",\"function\":" + std::to_string(number(kRuntime, kLaunchKernel)) +
                        ",\"name\":\"cudaLaunchKernel\",\"kind\":\"launch\",\"arguments\":[\"kernel:text\",\"grid_x\","
                        "\"grid_y\",\"grid_z\",\"block:xyz\",\"shared_bytes\"],\"domain\":\"CUDA\",\"category\":"
                        "\"cuda_runtime\"}\n");
}

// Runtimes of CUDA before 12.9 leave something there that is no address.
void only_launches_of_a_kernel_have_its_name(const RecordedSession& recorded, Collector& collector) {
  const auto* nothing = reinterpret_cast<const char*>(1);
  const OnStream<GraphLaunch> graph{{reinterpret_cast<void*>(0x77)}, reinterpret_cast<void*>(0x5712)};
  Call(collector.callbacks, kRuntime, kGraphLaunch, 11, &graph, 0, nothing).leave();
  const WavescopeCallRecord record = calls(recorded).back();
  CHECK(record.function == number(kRuntime, kGraphLaunch) && record.arguments[0] == 0x77 && record.stream == 0x5712);
  const LaunchOnDevices devices{};
  Call(collector.callbacks, kRuntime, 272, 12, &devices, 0, nothing).leave();
}

// Of the same kernel at the same address the text is the same; another's may lie there later.
void kernel_names_are_compared(const RecordedSession& recorded, Collector& collector) {
  char name[16] = "first";
  std::vector<uint64_t> texts;
  for (const char* next : {"first", "first", "other", "first"}) {
    std::strcpy(name, next);
    Call(collector.callbacks, kRuntime, kLaunchKernel, 6, nullptr, 0, name).leave();
    // Without parameters nothing of them is kept, not even the name.
    const OnStream<RuntimeLaunch> parameters{};
    Call(collector.callbacks, kRuntime, kLaunchKernel, 7, &parameters, 0, name).leave();
    CHECK(recorded.texts().at(calls(recorded).back().arguments[0]) == next);
    texts.push_back(calls(recorded).back().arguments[0]);
  }
  CHECK(texts[0] == texts[1] && texts[0] == texts[3] && texts[0] != texts[2]);
}

// Of CUDA 13's own launch function the layout of the parameters is not published.
void unread_launches_keep_the_name(const RecordedSession& recorded, Collector& collector) {
  const char not_parameters = 0;
  Call(collector.callbacks, kRuntime, 505, 8, &not_parameters, 0, "softmax").leave();
  const WavescopeCallRecord record = calls(recorded).back();
  CHECK(recorded.texts().at(record.arguments[0]) == "softmax" && record.arguments[1] == 0 && record.stream == 0);
  CHECK(recorded.facts("\"fact\":\"function\"").back().find("\"name\":\"cudaLaunchKernel\"") != std::string::npos);
}

void driver_launches_by_configuration(const RecordedSession& recorded, Collector& collector) {
  const DriverLaunchConfig config{1, 2, 3, 4, 5, 6, 7, reinterpret_cast<void*>(0x88), nullptr, 0};
  const DriverLaunchWith parameters{&config, nullptr, nullptr, nullptr};
  Call(collector.callbacks, kDriver, 652, 9, &parameters, 0, "k").leave();
  WavescopeCallRecord record = calls(recorded).back();
  CHECK(record.arguments[1] == 1 && record.arguments[2] == 2 && record.arguments[3] == 3 && record.stream == 0x88);
  CHECK(record.arguments[4] == (4ull | 5ull << 21 | 6ull << 42) && record.arguments[5] == 7);
  CHECK(recorded.facts("\"fact\":\"function\"").back().find("\"category\":\"cuda_driver\"") != std::string::npos);
  const DriverLaunchWith none{};
  Call(collector.callbacks, kDriver, 652, 10, &none, 0, "k").leave();
  CHECK(calls(recorded).back().arguments[1] == 0 && calls(recorded).back().stream == 0);
}

void copies_and_fills_keep_their_bytes(const RecordedSession& recorded, Collector& collector) {
  int target = 0, source = 0;
  const OnStream<CopyOfKind> copy{{&target, &source, 1000, 2}, reinterpret_cast<void*>(0x77)};
  Call(collector.callbacks, kRuntime, kMemcpyAsync, 11, &copy).leave();
  WavescopeCallRecord record = calls(recorded).back();
  CHECK(record.arguments[0] == reinterpret_cast<uint64_t>(&target) && record.stream == 0x77);
  CHECK(record.arguments[1] == reinterpret_cast<uint64_t>(&source) && record.arguments[2] == 1000);
  CHECK(record.arguments[3] == 2);
  const OnStream<DriverFill<uint16_t>> fill{{&target, 0xabcd, 50}, nullptr};
  Call(collector.callbacks, kDriver, 218, 12, &fill).leave();  // cuMemsetD16Async
  record = calls(recorded).back();
  CHECK(record.arguments[1] == 100 && record.arguments[2] == 0xabcd);
}

void results_are_kept_of_calls_that_succeed(const RecordedSession& recorded, Collector& collector) {
  void* allocated = nullptr;
  const Allocation parameters{&allocated, 4096};
  Call good(collector.callbacks, kRuntime, kMalloc, 13, &parameters);
  CHECK(calls(recorded).back().arguments[0] == 0 && calls(recorded).back().arguments[1] == 4096);
  allocated = reinterpret_cast<void*>(0x7f00);
  good.leave();
  CHECK(calls(recorded).back().arguments[0] == 0x7f00 && calls(recorded).back().result == 0);
  Call bad(collector.callbacks, kRuntime, kMalloc, 14, &parameters);
  bad.leave(2);
  CHECK(calls(recorded).back().arguments[0] == 0 && calls(recorded).back().result == 2);
}

void only_outermost_calls_are_recorded(const RecordedSession& recorded, Collector& collector) {
  const std::size_t before = calls(recorded).size();
  const OfStream parameters{reinterpret_cast<void*>(0x33)};
  Call outer(collector.callbacks, kRuntime, kStreamSynchronize, 15, &parameters);
  Call inner(collector.callbacks, kDriver, 126, 16, &parameters);
  inner.leave();
  CHECK(calls(recorded).back().flags == WAVESCOPE_CALL_OPEN);
  outer.leave();
  CHECK(calls(recorded).size() == before + 1 && calls(recorded).back().correlation == 15);
  CHECK(calls(recorded).back().stream == 0x33 && calls(recorded).back().flags == 0);
}

void epochs_show_in_correlation_ids(const RecordedSession& recorded, Collector& collector) {
  collector.notes.begin_epoch();
  Call cut_off(collector.callbacks, kRuntime, kStreamSynchronize, 17);
  CHECK(wavescope::current_correlation() == (1ull << 32 | 17));
  CHECK(collector.callbacks.enable(nullptr));
  collector.notes.begin_epoch();
  Call(collector.callbacks, kRuntime, kStreamSynchronize, 17).leave();
  CHECK(calls(recorded).back().correlation == (2ull << 32 | 17));
  CHECK(calls(recorded)[calls(recorded).size() - 2].flags == WAVESCOPE_CALL_OPEN);  // it was never seen to end
  CHECK(wavescope::current_correlation() == 0);
}

void a_pause_records_nothing(const RecordedSession& recorded, Collector& collector) {
  const std::size_t before = calls(recorded).size();
  Session::current()->control().pause();
  Call(collector.callbacks, kRuntime, kStreamSynchronize, 18).leave();
  Session::current()->control().resume();
  CHECK(calls(recorded).size() == before);
}

void modes_record_what_they_say(const RecordedSession& recorded) {
  const auto recorded_by = [&](Mode mode) {
    Collector collector(mode);
    const std::size_t before = calls(recorded).size();
    std::vector<uint16_t> functions;
    for (const uint32_t id : {kMalloc, kStreamSynchronize, kMemcpyAsync, kLaunchKernel}) {
      Call(collector.callbacks, kRuntime, id, 20).leave();
    }
    const auto records = calls(recorded);
    for (std::size_t at = before; at < records.size(); ++at) functions.push_back(records[at].function);
    return functions;
  };
  CHECK(recorded_by(Mode::kLite).empty() && recorded_by(Mode::kStandard).empty());
  CHECK(
      (recorded_by(Mode::kFull) == std::vector<uint16_t>{number(kRuntime, kMalloc), number(kRuntime, kStreamSynchronize)}));
  CHECK(recorded_by(Mode::kHip).size() == 4);
}

void threads_call_at_once(const RecordedSession& recorded, Collector& collector) {
  constexpr uint32_t kThreads = 4, kCalls = 2000;
  const std::size_t before = calls(recorded).size();
  std::vector<std::thread> threads;
  for (uint32_t thread = 0; thread < kThreads; ++thread) {
    threads.emplace_back([&collector, thread] {
      const OnStream<RuntimeLaunch> parameters{};
      const std::string names[2] = {"kernel_" + std::to_string(thread), "common"};
      for (uint32_t i = 0; i < kCalls; ++i) {
        Call(collector.callbacks, kRuntime, kLaunchKernel, 100 + thread * kCalls + i, &parameters, 0, names[i % 2].c_str())
            .leave();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  const auto records = calls(recorded);
  const auto texts = recorded.texts();
  CHECK(records.size() == before + kThreads * kCalls);
  std::size_t common = 0, closed = 0;
  for (const WavescopeCallRecord& record : records) {
    if ((record.correlation & 0xffffffff) < 100) continue;
    closed += record.flags == 0;
    common += texts.at(record.arguments[0]) == "common";
  }
  CHECK(closed == kThreads * kCalls && common == kThreads * kCalls / 2);
}

}  // namespace

int main() {
  const RecordedSession recorded("hip");
  CHECK(Session::current() != nullptr);
  Collector collector(Mode::kHip);
  launches_keep_their_shape(recorded, collector);
  only_launches_of_a_kernel_have_its_name(recorded, collector);
  kernel_names_are_compared(recorded, collector);
  unread_launches_keep_the_name(recorded, collector);
  driver_launches_by_configuration(recorded, collector);
  copies_and_fills_keep_their_bytes(recorded, collector);
  results_are_kept_of_calls_that_succeed(recorded, collector);
  only_outermost_calls_are_recorded(recorded, collector);
  epochs_show_in_correlation_ids(recorded, collector);
  a_pause_records_nothing(recorded, collector);
  modes_record_what_they_say(recorded);
  threads_call_at_once(recorded, collector);
  return 0;
}
