#include "collector_cupti/api_callbacks.h"

#include <cstring>
#include <string>

#include "collector_cupti/parameters/graphs_and_modules.h"
#include "collector_cupti/parameters/launches.h"

namespace wavescope::cupti {
namespace {

// The outermost call that a thread is in. Plain data, zero at first; written by its own thread only.
struct ThreadCall {
  uint32_t subscription = 0;  // that the rest is of
  uint32_t depth = 0;
  uint32_t kernels = 0;  // that it launches
  Skipping skipped{};
  bool counted_by_records = false;
  bool is_copy = false;  // or fill
  bool made_graph_node = false;
  WavescopeCallRecord* record = nullptr;
};
thread_local ThreadCall thread_call __attribute__((tls_model("initial-exec")));

constexpr ResourceCallback kGraphEvents[] = {
    ResourceCallback::kGraphCreated,
    ResourceCallback::kGraphDestroyStarting,
    ResourceCallback::kGraphCloned,
    ResourceCallback::kGraphNodeCreated,
    ResourceCallback::kGraphNodeCloned,
    ResourceCallback::kGraphNodeDestroyStarting,
    ResourceCallback::kGraphExecCreateStarting,
    ResourceCallback::kGraphExecCreated,
    ResourceCallback::kGraphExecDestroyStarting,
};

LaunchNote note_of(const ThreadCall& call) {
  LaunchNote note;
  note.thread = current_thread();
  note.marker = current_marker();
  note.skipped = call.skipped;
  note.counted_by_records = call.counted_by_records;
  return note;
}

}  // namespace

ApiCallbacks::ApiCallbacks(Session& session, const CuptiLibrary& library, LaunchNotes& notes, Coverage& coverage, Mode mode)
    : session_(session),
      library_(library),
      notes_(notes),
      coverage_(coverage),
      mode_(mode),
      calls_(session, notes),
      graph_nodes_(library.get_graph_exec_id),
      devices_(library) {}

bool ApiCallbacks::enable(CuptiSubscriber subscriber) {
  if (subscription_.load() != 0) graph_nodes_.begin_anew();
  subscription_.fetch_add(1);
  return enable_functions(subscriber) && enable_graph_events(subscriber);
}

// The ids of versions that were not there when the table was made may mean something else.
bool ApiCallbacks::is_what_cupti_means(const CallFunction& function) const {
  if (library_.version < function.since) return false;
  const char* name = nullptr;
  if (library_.get_callback_name == nullptr) return true;
  if (library_.get_callback_name(function.domain, function.callback_id, &name) != CuptiResult::kSuccess || name == nullptr) {
    return false;
  }
  name += std::strspn(name, "_");
  return std::strncmp(name, function.name, std::strcspn(function.name, "_")) == 0;
}

// Without one launch function nothing is known of who launched what; any other may be missing in an older version.
bool ApiCallbacks::enable_functions(CuptiSubscriber subscriber) {
  bool has_launches = false;
  for (std::size_t number = 0; number < call_function_count(); ++number) {
    const CallFunction& function = call_function(number);
    if (!is_wanted(function) || !is_what_cupti_means(function)) continue;
    const CuptiResult result = library_.enable_callback(1, subscriber, function.domain, function.callback_id);
    if (result == CuptiResult::kSuccess && function.effect == Effect::kKernel) has_launches = true;
  }
  if (!has_launches) session_.facts().note("CUDA calls not recorded: CUPTI does not tell of launches");
  return has_launches;
}

bool ApiCallbacks::enable_graph_events(CuptiSubscriber subscriber) {
  for (const ResourceCallback event : kGraphEvents) {
    const CuptiResult result =
        library_.enable_callback(1, subscriber, CuptiCallbackDomain::kResource, static_cast<uint32_t>(event));
    if (result != CuptiResult::kSuccess && event == ResourceCallback::kGraphNodeCreated) {
      session_.facts().note("kernels of CUDA graphs not counted: CUPTI does not tell of their nodes");
    }
  }
  return true;
}

void ApiCallbacks::on_callback(CuptiCallbackDomain domain, uint32_t callback_id, const void* data) {
  if (data == nullptr) return;
  if (__builtin_expect(domain == CuptiCallbackDomain::kRuntimeApi || domain == CuptiCallbackDomain::kDriverApi, 1)) {
    on_api(domain, callback_id, *static_cast<const ApiCallbackData*>(data));
  } else if (domain == CuptiCallbackDomain::kResource) {
    on_graph_event(static_cast<ResourceCallback>(callback_id), *static_cast<const ResourceCallbackData*>(data));
  }
}

// A thread that was inside of a call when CUPTI was let go of never left it, as far as is told.
void ApiCallbacks::on_api(CuptiCallbackDomain domain, uint32_t callback_id, const ApiCallbackData& data) {
  const CallFunction* function = find_call_function(domain, callback_id);
  if (function == nullptr) return;
  ThreadCall& call = thread_call;
  const uint32_t subscription = subscription_.load(std::memory_order_relaxed);
  if (__builtin_expect(call.subscription != subscription, 0)) {
    if (call.record != nullptr) thread_state().correlation = 0;
    call = ThreadCall{};
    call.subscription = subscription;
  }
  if (data.site == CallbackSite::kEnter) {
    if (call.depth++ == 0) on_entry(*function, data);
  } else if (call.depth != 0 && --call.depth == 0) {
    on_exit(*function, data);
  }
}

void ApiCallbacks::on_entry(const CallFunction& function, const ApiCallbackData& data) {
  ThreadCall& call = thread_call;
  call.made_graph_node = false;
  call.is_copy = function.effect == Effect::kNote;
  if (function.effect != Effect::kNone && function.effect != Effect::kNodeEnabled) {
    call.skipped = skipping(function);
    call.counted_by_records = false;
    call.kernels = kernels_of_launch(function, data);
    notes_.put(data.correlation, note_of(call));
  }
  if (function.is_recorded(mode_)) call.record = calls_.enter(function, data);
}

uint32_t ApiCallbacks::kernels_of_launch(const CallFunction& function, const ApiCallbackData& data) {
  if (function.effect == Effect::kKernel) return 1;
  if (function.effect == Effect::kNote || data.parameters == nullptr) return 0;
  if (function.effect == Effect::kKernels) return static_cast<const parameters::LaunchOnDevices*>(data.parameters)->count;
  using GraphLaunch = parameters::OnStream<parameters::GraphLaunch>;
  const CudaGraphExec executable = static_cast<const GraphLaunch*>(data.parameters)->call.executable;
  const auto overwritten = graph_nodes_.on_launch(executable, data.correlation, notes_.recorded_time().is_off());
  if (__builtin_expect(overwritten.before != 0, 0)) notes_.overwrite(overwritten.before);
  if (__builtin_expect(overwritten.itself != 0, 0)) notes_.overwrite(overwritten.itself);
  const auto kernels = graph_nodes_.kernels_of(executable);
  thread_call.counted_by_records = !kernels.has_value();
  return kernels.value_or(0);
}

void ApiCallbacks::on_exit(const CallFunction& function, const ApiCallbackData& data) {
  ThreadCall& call = thread_call;
  const int32_t result = data.return_value == nullptr ? 0 : *static_cast<const int32_t*>(data.return_value);
  if (call.record != nullptr) {
    calls_.leave(*call.record, function, data, result);
    call.record = nullptr;
  }
  if (result != 0) return;
  if (function.effect == Effect::kNodeEnabled && data.parameters != nullptr) {
    graph_nodes_.on_node_enabled(static_cast<const parameters::NodeEnabling*>(data.parameters)->executable);
  }
  const bool launches =
      function.effect != Effect::kNone && function.effect != Effect::kNote && function.effect != Effect::kNodeEnabled;
  if (launches && !call.made_graph_node) count_launch(function, data);
}

// Skipped is first counted, then taken back for those whose records came before: it is never less than nothing.
void ApiCallbacks::count_launch(const CallFunction& function, const ApiCallbackData& data) {
  ThreadCall& call = thread_call;
  if (call.counted_by_records) unknown_graph_launches_.fetch_add(1, std::memory_order_relaxed);
  if (call.kernels == 0) return;
  if (!call.skipped) call.skipped = skipping(function);  // records may have been turned off meanwhile
  const uint32_t gpu = devices_.device_of(data.context, data.context_id);
  coverage_.add_seen(gpu, call.kernels);
  if (!call.skipped) return;
  coverage_.add_skipped(gpu, call.skipped.reason(), call.kernels);
  if (const uint32_t came = notes_.skip(data.correlation, call.skipped, call.kernels)) {
    coverage_.take_skipped(gpu, call.skipped.reason(), came);
  }
}

void ApiCallbacks::on_graph_event(ResourceCallback event, const ResourceCallbackData& data) {
  if (event == ResourceCallback::kGraphNodeCreated) thread_call.made_graph_node = true;
  if (event < ResourceCallback::kGraphCreated || event > ResourceCallback::kGraphNodeCloned) return;
  if (data.descriptor == nullptr) return;
  const bool inside_copy = thread_call.depth != 0 && thread_call.is_copy;
  graph_nodes_.on_event(event, *static_cast<const GraphResourceData*>(data.descriptor), inside_copy);
}

void ApiCallbacks::finish() {
  const uint64_t unknown = unknown_graph_launches_.exchange(0);
  if (unknown == 0) return;
  session_.facts().note(
      "launches of CUDA graphs whose kernels could not be counted beforehand: those that were recorded count", unknown);
}

}  // namespace wavescope::cupti
