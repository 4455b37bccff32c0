// The stand-in for libcupti: subscriber and callbacks, and what CUPTI knows of handles.
#include <cstring>
#include <string>

#include "cupti_state.h"

namespace played {
namespace {

constexpr std::size_t kDomains = 7;
constexpr std::size_t kMostIds = 1024;

struct Subscription {
  std::atomic<abi::CuptiCallback> callback{nullptr};
  std::atomic<void*> user_data{nullptr};
  std::array<std::array<std::atomic<bool>, kMostIds>, kDomains> wanted{};
};

Subscription& subscription() {
  static Subscription& one = *new Subscription;
  return one;
}

std::atomic<uint32_t> last_correlation{0};

bool wants(abi::CuptiCallbackDomain domain, uint32_t id) {
  return has_subscriber() && subscription().wanted[static_cast<std::size_t>(domain)].at(id);
}

void call_back(Inside where, abi::CuptiCallbackDomain domain, uint32_t id, const void* data) {
  const abi::CuptiCallback callback = subscription().callback;
  if (callback == nullptr) return;
  const Inside before = inside();
  inside() = where;
  callback(subscription().user_data, domain, id, data);
  inside() = before;
}

// What runtimes before CUDA 12.9 leave where a call has no kernel's name.
const auto* const no_symbol = reinterpret_cast<const char*>(1);

abi::ApiCallbackData data_of(Call& call, abi::CallbackSite site) {
  return {site,
          call.name,
          call.parameters,
          site == abi::CallbackSite::kExit ? call.result : nullptr,
          call.symbol == nullptr ? no_symbol : call.symbol,
          call.context,
          call.context == nullptr ? 0 : call.context->id,
          &call.correlation_data,
          call.correlation};
}

bool has_activity_of(abi::CuptiCallbackDomain domain) {
  return is_enabled(domain == abi::CuptiCallbackDomain::kRuntimeApi ? CuptiActivityKind::kRuntime
                                                                    : CuptiActivityKind::kDriver);
}

void on_enter(Call& call) {
  const bool is_wanted = wants(call.domain, call.id);
  // CUPTI numbers only what somebody asked for.
  if (call.correlation == 0 && (is_wanted || has_activity_of(call.domain))) call.correlation = ++last_correlation;
  if (!is_wanted) return;
  const auto data = data_of(call, abi::CallbackSite::kEnter);
  call_back(Inside::kApiEnter, call.domain, call.id, &data);
}

void on_leave(Call& call) {
  if (has_activity_of(call.domain)) record_call(call, boot_ns());
  if (!wants(call.domain, call.id)) return;
  const auto data = data_of(call, abi::CallbackSite::kExit);
  call_back(Inside::kApiExit, call.domain, call.id, &data);
}

void on_resource(abi::ResourceCallback id, Context* context, Stream* stream, void* descriptor) {
  if (!wants(abi::CuptiCallbackDomain::kResource, static_cast<uint32_t>(id))) return;
  const abi::ResourceCallbackData data{context, stream, descriptor};
  call_back(Inside::kResource, abi::CuptiCallbackDomain::kResource, static_cast<uint32_t>(id), &data);
}

constexpr Tool kTool{on_enter, on_leave, on_resource, record_op, deliver_all};

void want(abi::CuptiCallbackDomain domain, uint32_t id, bool is_wanted) {
  subscription().wanted[static_cast<std::size_t>(domain)].at(id) = is_wanted;
}

bool is_subscriber(abi::CuptiSubscriber subscriber) {
  return has_subscriber() && reinterpret_cast<Subscription*>(subscriber) == &subscription();
}

}  // namespace

Inside& inside() {
  // Not the usual kind of a library that is opened late: LeakSanitizer cannot look into that one at the end of a program.
  thread_local Inside one __attribute__((tls_model("initial-exec"))) = Inside::kNothing;
  return one;
}

void attach() { set_tool(&kTool); }
bool has_subscriber() { return subscription().callback != nullptr; }

void forget_subscriber() {
  subscription().callback = nullptr;
  for (auto& domain : subscription().wanted) {
    for (auto& is_wanted : domain) is_wanted = false;
  }
}

}  // namespace played

using played::CuptiResult;
using played::abi::CuptiCallback;
using played::abi::CuptiCallbackDomain;
using played::abi::CuptiSubscriber;

CUPTI_FUNCTION cuptiSubscribe(CuptiSubscriber* subscriber, CuptiCallback callback, void* user_data) {
  using namespace played;
  if (is_torn_down()) return CuptiResult::kNotInitialized;
  if (const auto refusal = setting("refuse_subscribe", 0)) return static_cast<CuptiResult>(refusal);
  if (has_subscriber()) return CuptiResult::kMultipleSubscribers;
  subscription().user_data = user_data;
  subscription().callback = callback;
  *subscriber = reinterpret_cast<CuptiSubscriber>(&subscription());
  attach();
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiUnsubscribe(CuptiSubscriber subscriber) {
  if (!played::is_subscriber(subscriber)) return CuptiResult::kInvalidParameter;
  played::forget_subscriber();
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiEnableCallback(uint32_t enable, CuptiSubscriber subscriber, CuptiCallbackDomain domain, uint32_t id) {
  if (!played::is_subscriber(subscriber) || static_cast<uint32_t>(domain) >= played::kDomains || id >= played::kMostIds)
    return CuptiResult::kInvalidParameter;
  if (played::setting("fail_callback", 0) == id && id != 0) return CuptiResult::kInvalidParameter;
  played::want(domain, id, enable != 0);
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiEnableDomain(uint32_t enable, CuptiSubscriber subscriber, CuptiCallbackDomain domain) {
  if (!played::is_subscriber(subscriber)) return CuptiResult::kInvalidParameter;
  for (uint32_t id = 1; id < played::kMostIds; ++id) played::want(domain, id, enable != 0);
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiFinalize() {
  using namespace played;
  if (is_torn_down()) return CuptiResult::kNotInitialized;
  if (inside() != Inside::kApiExit && inside() != Inside::kNothing)
    complain("cuptiFinalize inside of a callback that is not the exit of a call");
  if (inside() == Inside::kNothing && has_undelivered())
    complain("cuptiFinalize outside of a callback before everything was flushed");
  // On an H200 the next launch of a graph failed then, and with it the program.
  if (has_instantiated()) complain("cuptiFinalize while there were graphs");
  set_tool(nullptr);
  forget_subscriber();
  forget_activities();
  last_correlation = 0;
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetVersion(uint32_t* version) {
  *version = static_cast<uint32_t>(played::setting("version", PLAYED_CUPTI_VERSION));
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetTimestamp(uint64_t* timestamp) {
  *timestamp = played::cupti_ns(played::boot_ns());
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetResultString(CuptiResult result, const char** text) {
  switch (result) {
    case CuptiResult::kSuccess: *text = "CUPTI_SUCCESS"; break;
    case CuptiResult::kNotInitialized: *text = "CUPTI_ERROR_NOT_INITIALIZED"; break;
    case CuptiResult::kMultipleSubscribers: *text = "CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED"; break;
    case CuptiResult::kInsufficientPrivileges: *text = "CUPTI_ERROR_INSUFFICIENT_PRIVILEGES"; break;
    default: *text = "CUPTI_ERROR_UNKNOWN";
  }
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetDeviceId(void* context, uint32_t* id) {
  if (context == nullptr) return CuptiResult::kInvalidParameter;
  *id = static_cast<played::Context*>(context)->gpu;
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetContextId(void* context, uint32_t* id) {
  if (context == nullptr) return CuptiResult::kInvalidParameter;
  *id = static_cast<played::Context*>(context)->id;
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetStreamIdEx(void* context, void* stream, uint8_t, uint32_t* id) {
  if (context == nullptr) return CuptiResult::kInvalidParameter;
  *id = reinterpret_cast<uintptr_t>(stream) <= 2 ? 7 : static_cast<played::Stream*>(stream)->id;
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetGraphId(void* graph, uint32_t* id) {
  *id = static_cast<played::Graph*>(graph)->id;
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetGraphExecId(void* exec, uint32_t* id) {
  *id = static_cast<played::Graph*>(exec)->id;
  return CuptiResult::kSuccess;
}

CUPTI_FUNCTION cuptiGetGraphNodeId(void* node, uint64_t* id) {
  *id = static_cast<played::Node*>(node)->id;
  return CuptiResult::kSuccess;
}
