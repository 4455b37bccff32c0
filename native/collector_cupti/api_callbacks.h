// What the collector does inside the program's calls of CUDA: notes on launches, counts of kernels and graph nodes, and in
// the modes that have them the calls themselves.
//
// Only the outermost call of a thread counts: a function of the runtime may call the driver. A launch while its stream is
// captured runs nothing; it shows by the graph node that is made inside of the call.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_API_CALLBACKS_H
#define WAVESCOPE_COLLECTOR_CUPTI_API_CALLBACKS_H

#include <atomic>
#include <cstdint>

#include "collector_cupti/call_functions.h"
#include "collector_cupti/call_recorder.h"
#include "collector_cupti/context_devices.h"
#include "collector_cupti/coverage.h"
#include "collector_cupti/cupti_library.h"
#include "collector_cupti/graph_nodes.h"
#include "collector_cupti/launch_notes.h"
#include "core/environment.h"
#include "core/session.h"

namespace wavescope::cupti {

class ApiCallbacks {
 public:
  ApiCallbacks(Session& session, const CuptiLibrary& library, LaunchNotes& notes, Coverage& coverage, Mode mode);
  ApiCallbacks(const ApiCallbacks&) = delete;
  ApiCallbacks& operator=(const ApiCallbacks&) = delete;

  // Asks CUPTI for the callbacks that are wanted; false, with a note in the session, when it refuses. Once per subscription.
  bool enable(CuptiSubscriber subscriber);

  // Every callback of the subscriber. Runs on the program's threads: no lock, no allocation on the usual way.
  void on_callback(CuptiCallbackDomain domain, uint32_t callback_id, const void* data);

  // Kernels launched from now on are not recorded, for this reason; recorded again. Any thread. A launch that is under way
  // meanwhile counts as skipped until its record comes: call skip() before records are turned off, record() after they are
  // turned on.
  void skip(WavescopeSkipReason reason) { skipping_.store(Skipping(reason).code(), std::memory_order_relaxed); }
  void record() { skipping_.store(0, std::memory_order_relaxed); }
  // Kernels of graphs are not recorded one by one, for this reason, whatever becomes of others. Before enable().
  void skip_graphs(WavescopeSkipReason reason) { skipping_of_graphs_ = Skipping(reason); }

  // Whether CUPTI told of any.
  bool saw_graphs() const { return graph_nodes_.has_any(); }

  // Says in notes what could not be counted. Once, at the end.
  void finish();

 private:
  bool enable_functions(CuptiSubscriber subscriber);
  bool enable_graph_events(CuptiSubscriber subscriber);
  bool is_what_cupti_means(const CallFunction& function) const;
  bool is_wanted(const CallFunction& function) const {
    return function.effect != Effect::kNone || function.is_recorded(mode_);
  }
  void on_api(CuptiCallbackDomain domain, uint32_t callback_id, const ApiCallbackData& data);
  void on_entry(const CallFunction& function, const ApiCallbackData& data);
  void on_exit(const CallFunction& function, const ApiCallbackData& data);
  void on_graph_event(ResourceCallback event, const ResourceCallbackData& data);
  uint32_t kernels_of_launch(const CallFunction& function, const ApiCallbackData& data);
  void count_launch(const CallFunction& function, const ApiCallbackData& data);
  Skipping skipping(const CallFunction& function) const {
    const Skipping skipping = Skipping::from_code(skipping_.load(std::memory_order_relaxed));
    return !skipping && function.effect == Effect::kGraph ? skipping_of_graphs_ : skipping;
  }

  Session& session_;
  const CuptiLibrary& library_;
  LaunchNotes& notes_;
  Coverage& coverage_;
  const Mode mode_;
  CallRecorder calls_;
  GraphNodes graph_nodes_;
  ContextDevices devices_;
  std::atomic<uint32_t> subscription_{0};  // counts them, from 1
  std::atomic<uint8_t> skipping_{0};
  Skipping skipping_of_graphs_{};
  std::atomic<uint64_t> unknown_graph_launches_{0};
};

}  // namespace wavescope::cupti

#endif
