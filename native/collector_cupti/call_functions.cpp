#include "collector_cupti/call_functions.h"

#include <iterator>
#include <type_traits>

#include "collector_cupti/parameters/copies.h"
#include "collector_cupti/parameters/graphs_and_modules.h"
#include "collector_cupti/parameters/launches.h"
#include "collector_cupti/parameters/layout.h"
#include "collector_cupti/parameters/memory_and_streams.h"

namespace wavescope::cupti {
namespace {

using namespace parameters;

constexpr CuptiCallbackDomain RUNTIME = CuptiCallbackDomain::kRuntimeApi;
constexpr CuptiCallbackDomain DRIVER = CuptiCallbackDomain::kDriverApi;

template <typename Parameters>
constexpr Effect effect_of(CallKind kind) {
  if constexpr (std::is_same_v<Parameters, NodeEnabling>) return Effect::kNodeEnabled;
  if constexpr (std::is_same_v<Parameters, OnStream<GraphLaunch>>) return Effect::kGraph;
  if constexpr (std::is_same_v<Parameters, LaunchOnDevices>) return Effect::kKernels;
  if (kind == CallKind::launch) return Effect::kKernel;
  return kind == CallKind::copy || kind == CallKind::fill ? Effect::kNote : Effect::kNone;
}

template <typename Parameters>
std::vector<std::string> names_of() {
  ArgumentNames names;
  Parameters{}.keep(names);
  return names.names();
}

template <typename Parameters, typename Visitor>
void keep(const void* parameters, Visitor& kept) {
  if constexpr (Parameters::kFields == 0) Parameters{}.keep(kept);
  else if (parameters != nullptr) static_cast<const Parameters*>(parameters)->keep(kept);
}

constexpr const char* without_underscores(const char* name) {
  while (*name == '_') ++name;
  return name;
}

template <CallKind kKind>
using Nothing = std::conditional_t<kKind == CallKind::launch, UnreadLaunch, Unread>;

template <typename Parameters>
constexpr CallFunction row(CuptiCallbackDomain domain, uint32_t id, const char* name, CallKind kind, uint32_t since) {
  return {domain,
          id,
          without_underscores(name),
          kind,
          effect_of<Parameters>(kind),
          since,
          names_of<Parameters>,
          keep<Parameters, EntryArguments>,
          keep<Parameters, ExitArguments>};
}

#define CUDA_FUNCTION(interface, id, name, version, kind, ...) row<__VA_ARGS__>(interface, id, #name, CallKind::kind, 0),
#define CUDA_UNREAD(interface, id, name, version, kind) \
  row<Nothing<CallKind::kind>>(interface, id, #name, CallKind::kind, 0),
#define CUDA_13_UNREAD(interface, id, name, version, kind) \
  row<Nothing<CallKind::kind>>(interface, id, #name, CallKind::kind, kVersion13_0),
constexpr CallFunction kRows[] = {
#include "collector_cupti/call_functions.def"
};

struct Numbers {
  uint16_t of_runtime[kMostCallbackIds] = {};  // 1 + a row's number; 0 for none
  uint16_t of_driver[kMostCallbackIds] = {};
};

constexpr Numbers numbers_by_id() {
  Numbers numbers;
  for (std::size_t number = 0; number < std::size(kRows); ++number) {
    uint16_t* const table = kRows[number].domain == RUNTIME ? numbers.of_runtime : numbers.of_driver;
    table[kRows[number].callback_id] = static_cast<uint16_t>(number + 1);
  }
  return numbers;
}
constexpr Numbers kNumbers = numbers_by_id();

const char* word_for(CallKind kind) {
  switch (kind) {
    case CallKind::launch:
    case CallKind::host: return "launch";
    case CallKind::copy: return "copy";
    case CallKind::fill: return "fill";
    case CallKind::alloc: return "alloc";
    case CallKind::stream: return "stream";
    case CallKind::event: return "event";
    case CallKind::sync: return "sync";
    case CallKind::graph: return "graph";
    case CallKind::other: break;
  }
  return "other";
}

}  // namespace

std::size_t call_function_count() { return std::size(kRows); }
const CallFunction& call_function(std::size_t number) { return kRows[number]; }
std::size_t number_of(const CallFunction& function) { return static_cast<std::size_t>(&function - kRows); }

const CallFunction* find_call_function(CuptiCallbackDomain domain, uint32_t callback_id) {
  if (callback_id >= kMostCallbackIds) return nullptr;
  const uint16_t* const table = domain == RUNTIME ? kNumbers.of_runtime : kNumbers.of_driver;
  const uint16_t number = table[callback_id];
  return number == 0 ? nullptr : &kRows[number - 1];
}

Fact function_fact(const CallFunction& function) {
  Fact fact("function");
  fact.add("function", static_cast<uint32_t>(kFirstFunction + number_of(function)));
  fact.add("name", function.name).add("kind", word_for(function.kind)).add("arguments", function.argument_names());
  fact.add("domain", "CUDA").add("category", function.domain == RUNTIME ? "cuda_runtime" : "cuda_driver");
  return fact;
}

}  // namespace wavescope::cupti
