// The HSA collector of one process, from the loading of the runtime to its end.
#ifndef WAVESCOPE_COLLECTOR_HSA_COLLECTOR_H
#define WAVESCOPE_COLLECTOR_HSA_COLLECTOR_H

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "collector_hsa/agents.h"
#include "collector_hsa/app_signals.h"
#include "collector_hsa/copy_recorder.h"
#include "collector_hsa/hsa_api.h"
#include "collector_hsa/kernel_symbols.h"
#include "collector_hsa/op_log.h"
#include "collector_hsa/queue_recorder.h"
#include "collector_hsa/queue_request.h"
#include "collector_hsa/runtime_versions.h"
#include "collector_hsa/shared_queues.h"
#include "collector_hsa/signal_watch.h"
#include "collector_hsa/slot_pool.h"
#include "collector_hsa/worker.h"
#include "core/environment.h"
#include "core/session.h"

namespace wavescope {

class Collector {
 public:
  Collector(const HsaApi& api, Session& session, const Settings& settings);

  const HsaApi& api() const { return api_; }
  Agents& agents() { return agents_; }
  SlotPool& pool() { return pool_; }
  AppSignals& app_signals() { return app_signals_; }
  KernelSymbols& symbols() { return symbols_; }
  CopyRecorder& copies() { return copies_; }
  SignalWatch& watch() { return watch_; }
  Mode mode() const { return mode_; }
  const RuntimeVersion& runtime() const { return runtime_; }
  bool recording() const { return session_.recording(); }
  const Control& control() const { return session_.control(); }
  void wake_worker() { worker_.wake(); }
  void note(const std::string& text) { session_.facts().note(text); }
  void start_worker() { worker_.start(); }

  // False in a forked child and after the end: nothing is recorded then.
  bool active() const { return active_.load(std::memory_order_relaxed); }
  // Both at once: Control::kOff or kOn of an active one, or what says that more is to be asked.
  uint32_t switched() const { return __atomic_load_n(switch_word_.load(std::memory_order_relaxed), __ATOMIC_RELAXED); }
  bool is_in_child() const { return is_in_child_.load(std::memory_order_relaxed); }
  void forget_in_child();

  hsa_status_t create_queue(const QueueRequest& request, InterceptedQueue& queue);
  // Records what the queue has done before and after `destroy` destroys it.
  hsa_status_t destroy_queue(hsa_queue_t* queue, const std::function<hsa_status_t()>& destroy);

  // Counters of a queue (or of the copies) of a GPU; never null, if need be without a file behind them.
  WavescopeCounterRecord& new_counters(uint16_t gpu, uint32_t queue);

  // The last sweep, and what is known only at the end, done by the worker within the limit.
  bool finish(uint64_t limit_ns);
  // The same before the runtime shuts down: the signals go back to it.
  void finish_with_runtime();
  // After that, at the end of the process: nothing is in flight any more. Safe in a signal handler.
  static void remove_pending_file(const Session& session);
  void note_unfinished() {
    session_.facts().note("the last dispatches not recorded: the collector's thread does not answer");
  }

 private:
  static Worker::Activity sweep_all(void* collector);
  static void last_sweep(void* collector);
  void become_inactive();
  void write_runtime_fact();
  hsa_status_t intercept(const QueueRequest& request, InterceptedQueue& queue) const;
  bool create_with_own_ring(const QueueRequest& request, Gpu& gpu, InterceptedQueue& queue);
  // Whether its packets are looked at from now on; there is a note where they are not.
  bool add_queue(hsa_queue_t* queue, Gpu& gpu, Interception interception);

  const HsaApi api_;
  const RuntimeVersion runtime_;
  Session& session_;
  const Mode mode_;
  const Interception interception_;
  std::atomic<bool> active_{true};
  std::atomic<const uint32_t*> switch_word_;
  std::atomic<bool> is_in_child_{false};
  Agents agents_;
  SlotPool pool_;
  AppSignals app_signals_;
  KernelSymbols symbols_;
  OpLog& op_log_;
  CopyRecorder copies_;
  std::mutex sweep_mutex_;  // queues_, and all sweeping
  std::vector<std::unique_ptr<QueueRecorder>> queues_;
  std::vector<std::unique_ptr<QueueRecorder>> past_queues_;  // a thread may still be inside a callback
  SignalWatch watch_;
  Worker worker_;
};

}  // namespace wavescope

#endif
