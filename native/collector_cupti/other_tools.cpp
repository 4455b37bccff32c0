// Other users of CUPTI in the program, such as torch.profiler: there is one subscription in a process, and theirs comes
// first.
//
// The collector is preloaded, so their calls of the functions below come here: those that take CUPTI let the collector yield
// before they are passed on, those that give it back let it take it again. The collector itself calls the library by the
// addresses that it looked up. Without a recording all of them are only passed on.
//
// CUPTI may give buffers that it has of the collector to the callback that the other tool registered: they are sorted out
// here.
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "collector_cupti/collector.h"
#include "core/next_symbol.h"

namespace wavescope::cupti {
namespace {

constexpr const char* kLibraries[] = {"libcupti.so", nullptr};

__thread int depth __attribute__((tls_model("initial-exec"))) = 0;

// CUPTI may call itself by these names: only the outermost call is the other tool's.
class ForeignCall {
 public:
  ForeignCall() { ++depth; }
  ~ForeignCall() { --depth; }
  ForeignCall(const ForeignCall&) = delete;
  ForeignCall& operator=(const ForeignCall&) = delete;

  Collector* collector() const { return depth == 1 ? Collector::current() : nullptr; }
};

// What the program would have called. Looked for at each call: there are few, and the library may come late.
template <typename... Arguments>
CuptiResult pass_on(const char* symbol, Arguments... arguments) {
  const auto function = reinterpret_cast<CuptiResult (*)(Arguments...)>(next_symbol(symbol, kLibraries));
  return function == nullptr ? CuptiResult::kNotInitialized : function(arguments...);
}

// A call that takes CUPTI; what is refused is given back.
template <typename... Arguments>
CuptiResult take(const char* symbol, Arguments... arguments) {
  const ForeignCall call;
  Collector* collector = call.collector();
  if (collector != nullptr) collector->yield_to(symbol);
  const CuptiResult result = pass_on(symbol, arguments...);
  if (collector != nullptr && result != CuptiResult::kSuccess) collector->take_back();
  return result;
}

template <typename... Arguments>
CuptiResult give_back(const char* symbol, Arguments... arguments) {
  const ForeignCall call;
  const CuptiResult result = pass_on(symbol, arguments...);
  Collector* collector = call.collector();
  if (collector != nullptr && result == CuptiResult::kSuccess) collector->take_back();
  return result;
}

std::atomic<CuptiBufferCompleted> completed_of_tool{nullptr};

void sort_out(CudaContext context, uint32_t stream, uint8_t* buffer, std::size_t bytes, std::size_t valid_bytes) {
  Collector* collector = Collector::current();
  if (collector != nullptr && collector->complete(buffer, valid_bytes)) return;
  const CuptiBufferCompleted completed = completed_of_tool.load(std::memory_order_acquire);
  if (completed != nullptr) completed(context, stream, buffer, bytes, valid_bytes);
}

}  // namespace

extern "C" {

#define WAVESCOPE_EXPORT __attribute__((visibility("default")))

WAVESCOPE_EXPORT CuptiResult cuptiSubscribe(CuptiSubscriber* subscriber, CuptiCallback callback, void* user_data) {
  return take("cuptiSubscribe", subscriber, callback, user_data);
}

WAVESCOPE_EXPORT CuptiResult cuptiSubscribe_v2(CuptiSubscriber* subscriber, CuptiCallback callback, void* user_data,
                                               void* parameters) {
  return take("cuptiSubscribe_v2", subscriber, callback, user_data, parameters);
}

WAVESCOPE_EXPORT CuptiResult cuptiActivityRegisterCallbacks(CuptiBufferRequested requested, CuptiBufferCompleted completed) {
  if (completed == nullptr || Collector::current() == nullptr) {
    return take("cuptiActivityRegisterCallbacks", requested, completed);
  }
  completed_of_tool.store(completed, std::memory_order_release);
  return take("cuptiActivityRegisterCallbacks", requested, CuptiBufferCompleted{sort_out});
}

WAVESCOPE_EXPORT CuptiResult cuptiActivityRegisterCallbacks_v2(CuptiSubscriber subscriber, void* requested,
                                                               void* completed) {
  return take("cuptiActivityRegisterCallbacks_v2", subscriber, requested, completed);
}

WAVESCOPE_EXPORT CuptiResult cuptiUnsubscribe(CuptiSubscriber subscriber) {
  return give_back("cuptiUnsubscribe", subscriber);
}

// Takes CUPTI out of the process, whoever has it.
WAVESCOPE_EXPORT CuptiResult cuptiFinalize() {
  const ForeignCall call;
  Collector* collector = call.collector();
  if (collector != nullptr) collector->yield_to_end("cuptiFinalize");
  const CuptiResult result = pass_on("cuptiFinalize");
  if (collector != nullptr) result == CuptiResult::kSuccess ? collector->take_back_anew() : collector->take_back();
  return result;
}

}  // extern "C"

}  // namespace wavescope::cupti
