// A CUPTI in miniature, as a table of functions: it tells of launches, fills the collector's buffers with records of
// kernels, and writes down in which order it was called.
#ifndef WAVESCOPE_TESTS_SMALL_CUPTI_H
#define WAVESCOPE_TESTS_SMALL_CUPTI_H

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstring>
#include <mutex>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "check.h"
#include "collector_cupti/collector.h"
#include "core/clock.h"
#include "cupti_fixture.h"
#include "recorded_session.h"

namespace small {

using namespace wavescope::cupti;
using wavescope::Session;

constexpr uint64_t kAhead = 1000000000000;  // of our clock is CUPTI's
constexpr uint32_t kLaunchKernel = 211;
constexpr uint64_t kKernelNs = 1000;

inline uint64_t ticks() { return wavescope::boottime_ns() + kAhead; }

// All of it under the lock, except what is atomic.
struct State {
  std::mutex mutex;
  std::vector<std::string> log;
  CuptiCallback callback = nullptr;
  void* user_data = nullptr;
  CuptiBufferRequested requested = nullptr;
  CuptiBufferCompleted completed = nullptr;
  std::set<CuptiActivityKind> kinds;
  CuptiActivityKind refused_kind = CuptiActivityKind::kInvalid;
  CuptiResult subscribe_answer = CuptiResult::kSuccess;
  CuptiResult register_answer = CuptiResult::kSuccess;
  CuptiResult flush_answer = CuptiResult::kSuccess;
  uint8_t* buffer = nullptr;
  std::size_t buffer_bytes = 0;
  std::size_t used = 0;
  std::size_t dropped = 0;
  uint32_t correlation = 0;
  bool holds_back = false;  // the kernels are not complete
  bool lacks_times = false;
  std::atomic<bool> flush_hangs{false};
  std::atomic<bool> has_hung{false};
  std::atomic<bool> is_in_exit{false};
  std::atomic<int> flushes{0};
  std::atomic<int> questions{0};  // for drops and times, since a flush has hung
};

inline State& state() {
  static auto& only = *new State;
  return only;
}

inline std::vector<std::string> take_log() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  std::vector<std::string> taken;
  taken.swap(state().log);
  return taken;
}

inline bool has_logged(const std::string& what) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  return std::find(state().log.begin(), state().log.end(), what) != state().log.end();
}

inline void write_down(const std::string& what) { state().log.push_back(what); }

inline CuptiResult get_version(uint32_t* version) {
  *version = kVersion13_0;
  return CuptiResult::kSuccess;
}

inline CuptiResult subscribe(CuptiSubscriber* subscriber, CuptiCallback callback, void* user_data) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  write_down("subscribe");
  if (state().subscribe_answer != CuptiResult::kSuccess) return state().subscribe_answer;
  state().callback = callback;
  state().user_data = user_data;
  *subscriber = reinterpret_cast<CuptiSubscriber>(&state());
  return CuptiResult::kSuccess;
}

inline CuptiResult unsubscribe(CuptiSubscriber) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  write_down("unsubscribe");
  state().callback = nullptr;
  return CuptiResult::kSuccess;
}

inline CuptiResult enable_callback(uint32_t, CuptiSubscriber, CuptiCallbackDomain, uint32_t) {
  return CuptiResult::kSuccess;
}
inline CuptiResult enable_domain(uint32_t, CuptiSubscriber, CuptiCallbackDomain) { return CuptiResult::kSuccess; }

inline CuptiResult register_callbacks(CuptiBufferRequested requested, CuptiBufferCompleted completed) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  write_down("register");
  if (state().register_answer != CuptiResult::kSuccess) return state().register_answer;
  state().requested = requested;
  state().completed = completed;
  return CuptiResult::kSuccess;
}

inline CuptiResult set_attribute(uint32_t attribute, std::size_t* bytes, void* value) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  CHECK(*bytes == 1);
  write_down("attribute " + std::to_string(attribute) + " " + std::to_string(*static_cast<uint8_t*>(value)));
  return CuptiResult::kSuccess;
}

inline CuptiResult enable(CuptiActivityKind kind) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  write_down("enable " + std::to_string(static_cast<uint32_t>(kind)));
  if (kind == state().refused_kind) return CuptiResult::kInsufficientPrivileges;
  state().kinds.insert(kind);
  return CuptiResult::kSuccess;
}

inline CuptiResult disable(CuptiActivityKind kind) {
  const std::lock_guard<std::mutex> lock(state().mutex);
  write_down("disable " + std::to_string(static_cast<uint32_t>(kind)));
  state().kinds.erase(kind);
  return CuptiResult::kSuccess;
}

inline CuptiResult flush_all(uint32_t flag) {
  if (state().flush_hangs.load()) {
    state().has_hung = true;
    while (state().flush_hangs.load()) std::this_thread::sleep_for(std::chrono::milliseconds(1));
    state().questions = 0;
  }
  uint8_t* buffer = nullptr;
  std::size_t used = 0, bytes = 0;
  CuptiBufferCompleted completed = nullptr;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    if (flag != 0) write_down("forced flush");
    if (state().flush_answer != CuptiResult::kSuccess) return state().flush_answer;
    if (state().holds_back && flag == 0) return CuptiResult::kSuccess;
    std::swap(buffer, state().buffer);
    std::swap(used, state().used);
    bytes = state().buffer_bytes;
    completed = state().completed;
  }
  if (buffer != nullptr) completed(nullptr, 0, buffer, bytes, used);
  ++state().flushes;
  return CuptiResult::kSuccess;
}

inline CuptiResult get_dropped(void*, uint32_t, std::size_t* dropped) {
  ++state().questions;
  const std::lock_guard<std::mutex> lock(state().mutex);
  *dropped = 0;
  std::swap(*dropped, state().dropped);
  return CuptiResult::kSuccess;
}

inline CuptiResult get_timestamp(uint64_t* now) {
  ++state().questions;
  *now = ticks();
  return CuptiResult::kSuccess;
}

inline CuptiResult finalize() {
  const std::lock_guard<std::mutex> lock(state().mutex);
  write_down(state().is_in_exit.load() ? "finalize at exit of call" : "finalize");
  state().callback = nullptr;
  state().kinds.clear();
  state().correlation = 0;
  return CuptiResult::kSuccess;
}

inline CuptiResult get_device_id(void*, uint32_t* device) {
  *device = 0;
  return CuptiResult::kSuccess;
}

inline CuptiLibrary library() {
  CuptiLibrary filled;
  filled.version = kVersion13_0;
  filled.get_version = get_version;
  filled.subscribe = subscribe;
  filled.unsubscribe = unsubscribe;
  filled.enable_callback = enable_callback;
  filled.enable_domain = enable_domain;
  filled.activity_register_callbacks = register_callbacks;
  filled.activity_enable = enable;
  filled.activity_disable = disable;
  filled.activity_flush_all = flush_all;
  filled.activity_get_next_record = next_record;
  filled.activity_get_dropped = get_dropped;
  filled.get_timestamp = get_timestamp;
  filled.finalize = finalize;
  filled.activity_set_attribute = set_attribute;
  filled.get_device_id = get_device_id;
  return filled;
}

// A record of the kernel, in a buffer of the collector's; without one it is dropped.
inline void record_kernel(uint32_t correlation, uint32_t stream) {
  if (state().kinds.count(CuptiActivityKind::kConcurrentKernel) == 0) return;
  std::size_t most = 0;
  if (state().buffer == nullptr) state().requested(&state().buffer, &state().buffer_bytes, &most);
  if (state().buffer == nullptr) {
    ++state().dropped;
    return;
  }
  const uint64_t now = ticks();
  KernelRecord record = a_kernel("_Z4gemmv", now, now + kKernelNs);
  record.correlation = correlation;
  record.stream = stream;
  if (state().lacks_times) record.start = record.end = 0;
  for (std::size_t at = 0; at < bytes_of(record.kind); ++at) CHECK(state().buffer[state().used + at] == 0);
  std::memcpy(state().buffer + state().used, &record, sizeof record);
  state().used += bytes_of(record.kind);
}

// A launch of the program's, from its entry to its exit.
inline void launch(uint32_t stream = 7) {
  ApiCallbackData data{};
  int32_t result = 0;
  int context = 0;
  data.context = &context;
  data.context_id = 1;
  data.return_value = &result;
  CuptiCallback callback = nullptr;
  void* user_data = nullptr;
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    callback = state().callback;
    user_data = state().user_data;
    data.correlation = ++state().correlation;
  }
  data.site = CallbackSite::kEnter;
  if (callback != nullptr) callback(user_data, CuptiCallbackDomain::kRuntimeApi, kLaunchKernel, &data);
  {
    const std::lock_guard<std::mutex> lock(state().mutex);
    record_kernel(data.correlation, stream);
    callback = state().callback;
  }
  data.site = CallbackSite::kExit;
  state().is_in_exit = true;
  if (callback != nullptr) callback(user_data, CuptiCallbackDomain::kRuntimeApi, kLaunchKernel, &data);
  state().is_in_exit = false;
}

// Waits until it holds; the test fails when it does not for half a minute.
template <typename Condition>
void wait_until(Condition condition) {
  const uint64_t deadline_ns = wavescope::boottime_ns() + 30000000000;
  while (!condition()) {
    CHECK(wavescope::boottime_ns() < deadline_ns);
    std::this_thread::sleep_for(std::chrono::milliseconds(1));
  }
}

// Kernels that the program launches until one takes CUPTI out of the process, which the worker may come to ask for a moment
// after it is done with everything.
inline uint64_t launches_until_finalized() {
  uint64_t launches = 0;
  wait_until([&] {
    launch();
    ++launches;
    return has_logged("finalize at exit of call");
  });
  return launches;
}

// A recording process.
struct Recording {
  explicit Recording(const char* mode, uint64_t flush_ms = 5) : folder(mode) {
    setenv("WAVESCOPE_FLUSH_MS", std::to_string(flush_ms).c_str(), 1);
    CHECK(Session::current() != nullptr);
    collector = new Collector(library(), *Session::current(), wavescope::settings());
  }

  void begin() {
    std::string reason;
    CHECK(collector->begin(reason));
  }
  std::vector<WavescopeGraphOpRecord> ops() const { return folder.records<WavescopeGraphOpRecord>("ops"); }
  WavescopeCounterRecord counters() const {
    const auto all = folder.records<WavescopeCounterRecord>("counters");
    return all.empty() ? WavescopeCounterRecord{} : all[0];
  }
  std::vector<std::string> facts(const std::string& kind) const { return folder.facts("\"fact\":\"" + kind + "\""); }

  RecordedSession folder;
  Collector* collector;  // never destroyed, as in a program
};

}  // namespace small

#endif
