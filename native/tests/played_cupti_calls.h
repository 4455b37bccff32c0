// The program's side and CUPTI's of a test of the collector's callbacks: calls of CUDA as CUPTI would tell of them.
#ifndef WAVESCOPE_TESTS_PLAYED_CUPTI_CALLS_H
#define WAVESCOPE_TESTS_PLAYED_CUPTI_CALLS_H

#include <atomic>
#include <cstdint>
#include <cstring>
#include <set>
#include <string>
#include <utility>

#include "check.h"
#include "collector_cupti/api_callbacks.h"
#include "collector_cupti/coverage.h"
#include "collector_cupti/launch_notes.h"
#include "recorded_session.h"

namespace played {

using namespace wavescope::cupti;
using wavescope::Mode;
using wavescope::Session;

constexpr auto kRuntime = CuptiCallbackDomain::kRuntimeApi;
constexpr auto kDriver = CuptiCallbackDomain::kDriverApi;

// What the library was asked; a process has one CUPTI.
inline std::set<std::pair<CuptiCallbackDomain, uint32_t>> enabled;
inline std::atomic<int> device_questions{0};
inline CuptiResult answer = CuptiResult::kSuccess;
inline uint32_t renamed_id = 0;  // of the runtime, which this version means something else by

inline CuptiResult enable_callback(uint32_t enable, CuptiSubscriber, CuptiCallbackDomain domain, uint32_t id) {
  CHECK(enable == 1);
  if (answer == CuptiResult::kSuccess) enabled.insert({domain, id});
  return answer;
}

// A context of these tests is the number of its GPU, and 1.
inline CuptiResult get_device_id(void* context, uint32_t* device) {
  ++device_questions;
  *device = static_cast<uint32_t>(reinterpret_cast<uint64_t>(context) - 1);
  return CuptiResult::kSuccess;
}

inline CuptiResult get_callback_name(CuptiCallbackDomain domain, uint32_t id, const char** name) {
  const CallFunction* function = find_call_function(domain, id);
  *name = domain == kRuntime && id == renamed_id ? "cudaSomethingElse_v14000" : function->name;
  return CuptiResult::kSuccess;
}

inline CuptiLibrary library(uint32_t version = kVersion13_0) {
  CuptiLibrary library;
  library.version = version;
  library.enable_callback = enable_callback;
  library.get_device_id = get_device_id;
  library.get_callback_name = get_callback_name;
  return library;
}

// A collector's parts for one case, in a mode, with the first subscription made.
struct Collector {
  explicit Collector(Mode mode, uint32_t version = kVersion13_0) : cupti(library(version)), mode_(mode) {
    CHECK(callbacks.enable(nullptr));
  }

  CuptiLibrary cupti;
  LaunchNotes notes{};
  Coverage coverage{*Session::current()};

 private:
  Mode mode_;

 public:
  ApiCallbacks callbacks{*Session::current(), cupti, notes, coverage, mode_};
};

// One call: entered when made, left by leave(). Its GPU is that of the context.
class Call {
 public:
  Call(ApiCallbacks& callbacks, CuptiCallbackDomain domain, uint32_t id, uint32_t correlation,
       const void* parameters = nullptr, uint32_t gpu = 0, const char* symbol = nullptr)
      : callbacks_(callbacks), domain_(domain), id_(id) {
    data_.parameters = parameters;
    data_.symbol_name = symbol;
    data_.context = reinterpret_cast<void*>(uint64_t{gpu} + 1);
    data_.context_id = gpu + 10;
    data_.correlation = correlation;
    tell(CallbackSite::kEnter);
  }

  void leave(int32_t result = 0) {
    data_.return_value = &result;
    tell(CallbackSite::kExit);
  }

 private:
  void tell(CallbackSite site) {
    data_.site = site;
    callbacks_.on_callback(domain_, id_, &data_);
  }

  ApiCallbacks& callbacks_;
  CuptiCallbackDomain domain_;
  uint32_t id_;
  ApiCallbackData data_{};
};

constexpr uint32_t kLaunchKernel = 211, kGraphLaunch = 311, kMemcpyAsync = 41, kMemsetAsync = 51, kMalloc = 20,
                   kStreamSynchronize = 131;
constexpr uint32_t kDriverLaunchKernel = 307;

inline void launch(Collector& collector, uint32_t correlation, uint32_t gpu = 0, int32_t result = 0) {
  Call(collector.callbacks, kRuntime, kLaunchKernel, correlation, nullptr, gpu).leave(result);
}

inline void tell_of_graph(ApiCallbacks& callbacks, ResourceCallback event, GraphResourceData graph) {
  ResourceCallbackData data{};
  data.descriptor = &graph;
  callbacks.on_callback(CuptiCallbackDomain::kResource, static_cast<uint32_t>(event), &data);
}

// The newest counters of a GPU.
inline WavescopeCounterRecord counters(const RecordedSession& recorded, uint16_t gpu) {
  WavescopeCounterRecord found{};
  for (const auto& record : recorded.records<WavescopeCounterRecord>("counters")) {
    if (record.gpu == gpu) found = record;
  }
  return found;
}

}  // namespace played

#endif
