// Where the HSA runtime calls the collector: OnLoad with its tables, the functions put into them, OnUnload.
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <new>
#include <string>

#include "collector_hsa/collector.h"
#include "collector_hsa/doorbell_table.h"
#include "collector_hsa/missed_runtime.h"
#include "collector_hsa/stalled_queues.h"

namespace wavescope {
namespace {

// All are leaked on purpose: at its end a process may still have threads inside these functions.
std::atomic<Collector*> current{nullptr};
std::atomic<Collector*> ended{nullptr};  // finished with the process, of which the runtime may see the very end
bool is_intercepting_itself = false;
HsaApi original{};  // of the newest runtime, for calls without a collector: in a forked child, after the end

// Of all collectors, as the program may release a queue after the recording has ended. Never destroyed.
SharedQueues& shared_queues() {
  static auto& queues = *new SharedQueues;
  return queues;
}

hsa_status_t create_queue(const QueueRequest& request, InterceptedQueue& queue) {
  Collector* collector = current.load(std::memory_order_acquire);
  return collector == nullptr ? request.make(original.queue_create, &queue.intercepting)
                              : collector->create_queue(request, queue);
}

hsa_status_t queue_create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                          void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t private_bytes,
                          uint32_t group_bytes, hsa_queue_t** queue) {
  const QueueRequest request{agent, size, type, callback, data, private_bytes, group_bytes};
  if (queue == nullptr) return request.make(original.queue_create, queue);
  if (request.is_for_shared_queue()) {
    return shared_queues().create(agent, queue, [&](InterceptedQueue& made) { return create_queue(request, made); });
  }
  InterceptedQueue made;
  const hsa_status_t status = create_queue(request, made);
  if (status == HSA_STATUS_SUCCESS) *queue = made.intercepting;
  return status;
}

void give_back_ring(hsa_queue_t* queue) {
  if (!is_intercepting_itself || queue == nullptr) return;
  if (QueueRecorder* recorder = doorbells.remove(queue->doorbell_signal)) recorder->step_aside();
}

hsa_status_t queue_destroy(hsa_queue_t* queue) {
  const SharedQueues::Release release = shared_queues().release(queue);
  if (release.is_in_use) return HSA_STATUS_SUCCESS;
  const auto destroy = [&] {
    if (release.below == nullptr) {
      give_back_ring(queue);
      return original.queue_destroy(queue);
    }
    original.queue_destroy(release.below);
    return original.queue_destroy(release.below);
  };
  Collector* collector = current.load(std::memory_order_acquire);
  if (collector == nullptr) collector = ended.load(std::memory_order_acquire);
  return collector == nullptr ? destroy() : collector->destroy_queue(queue, destroy);
}

// A doorbell or any other signal.
void signal_store(hsa_signal_t signal, hsa_signal_value_t value) {
  if (QueueRecorder* recorder = doorbells.find(signal)) return recorder->on_doorbell(static_cast<uint64_t>(value));
  original.signal_store(signal, value);
}

void signal_store_relaxed(hsa_signal_t signal, hsa_signal_value_t value) {
  if (QueueRecorder* recorder = doorbells.find(signal)) return recorder->on_doorbell(static_cast<uint64_t>(value));
  original.signal_store_relaxed(signal, value);
}

// The same where the runtime intercepts the queues, and must not be given too much at once.
void signal_store_unless_stalled(hsa_signal_t signal, hsa_signal_value_t value) {
  if (__builtin_expect(stalled_queues.any(), 0)) stalled_queues.wait_for_room(signal, original);
  original.signal_store(signal, value);
}

void signal_store_relaxed_unless_stalled(hsa_signal_t signal, hsa_signal_value_t value) {
  if (__builtin_expect(stalled_queues.any(), 0)) stalled_queues.wait_for_room(signal, original);
  original.signal_store_relaxed(signal, value);
}

hsa_status_t signal_destroy(hsa_signal_t signal) {
  if (Collector* collector = current.load(std::memory_order_acquire)) collector->app_signals().release_signal(signal, true);
  return original.signal_destroy(signal);
}

hsa_status_t executable_freeze(hsa_executable_t executable, const char* options) {
  const hsa_status_t status = original.executable_freeze(executable, options);
  Collector* collector = current.load(std::memory_order_acquire);
  if (status == HSA_STATUS_SUCCESS && collector != nullptr) collector->symbols().executable_frozen(executable);
  return status;
}

// Times are needed whatever the application thinks of profiling, so it can turn them on only.
hsa_status_t set_profiler_enabled(hsa_queue_t* queue, int enable) {
  if (enable == 0 && current.load(std::memory_order_acquire) != nullptr) return HSA_STATUS_SUCCESS;
  return original.set_profiler_enabled(queue, enable);
}

hsa_status_t async_copy_enable(bool enable) {
  if (!enable && current.load(std::memory_order_acquire) != nullptr) return HSA_STATUS_SUCCESS;
  return original.async_copy_enable(enable);
}

// A signal that our barrier completed carries the barrier's times: the application gets the dispatch's.
hsa_status_t get_dispatch_time(hsa_agent_t agent, hsa_signal_t signal, hsa_amd_profiling_dispatch_time_t* time) {
  Collector* collector = current.load(std::memory_order_acquire);
  Ticks ticks{};
  if (collector == nullptr || time == nullptr || signal.handle == 0 ||
      !collector->app_signals().forwarded_ticks(signal, ticks) ||
      original.convert_tick(agent, ticks.end, &time->end) != HSA_STATUS_SUCCESS) {
    return original.get_dispatch_time(agent, signal, time);
  }
  return original.convert_tick(agent, ticks.start, &time->start);
}

// Has the runtime copy, and records it.
template <typename Copy>
hsa_status_t record_copy(const CopyShape& shape, hsa_signal_t completion, Copy copy) {
  Collector* collector = current.load(std::memory_order_acquire);
  if (collector == nullptr) return copy();
  const CopySlot slot = collector->copies().before_copy(shape, completion);
  const hsa_status_t status = copy();
  if (__builtin_expect(status != HSA_STATUS_SUCCESS, 0)) collector->copies().refused(slot);
  return status;
}

hsa_status_t async_copy(void* target, hsa_agent_t target_agent, const void* source, hsa_agent_t source_agent, size_t bytes,
                        uint32_t dependency_count, const hsa_signal_t* dependencies, hsa_signal_t completion) {
  return record_copy(CopyShape{bytes, target_agent, source_agent, kHost}, completion, [&] {
    return original.async_copy(target, target_agent, source, source_agent, bytes, dependency_count, dependencies,
                               completion);
  });
}

hsa_status_t async_copy_on_engine(void* target, hsa_agent_t target_agent, const void* source, hsa_agent_t source_agent,
                                  size_t bytes, uint32_t dependency_count, const hsa_signal_t* dependencies,
                                  hsa_signal_t completion, uint32_t engine, bool force_engine) {
  return record_copy(CopyShape{bytes, target_agent, source_agent, engine}, completion, [&] {
    return original.async_copy_on_engine(target, target_agent, source, source_agent, bytes, dependency_count, dependencies,
                                         completion, engine, force_engine);
  });
}

hsa_status_t async_copy_rect(const hsa_pitched_ptr_t* target, const hsa_dim3_t* target_offset,
                             const hsa_pitched_ptr_t* source, const hsa_dim3_t* source_offset, const hsa_dim3_t* range,
                             hsa_agent_t agent, hsa_amd_copy_direction_t direction, uint32_t dependency_count,
                             const hsa_signal_t* dependencies, hsa_signal_t completion) {
  const uint64_t bytes = range == nullptr ? 0 : uint64_t{range->x} * range->y * range->z;
  const bool to_host = direction == hsaDeviceToHost || direction == hsaHostToHost;
  const bool from_host = direction == hsaHostToDevice || direction == hsaHostToHost;
  const CopyShape shape{bytes, to_host ? hsa_agent_t{0} : agent, from_host ? hsa_agent_t{0} : agent, kHost};
  return record_copy(shape, completion, [&] {
    return original.async_copy_rect(target, target_offset, source, source_offset, range, agent, direction, dependency_count,
                                    dependencies, completion);
  });
}

void put_hooks(const HsaHooks& hooks, const Collector& collector) {
  *hooks.queue_create = queue_create;
  *hooks.queue_destroy = queue_destroy;
  *hooks.signal_destroy = signal_destroy;
  *hooks.executable_freeze = executable_freeze;
  *hooks.set_profiler_enabled = set_profiler_enabled;
  *hooks.async_copy_enable = async_copy_enable;
  *hooks.get_dispatch_time = get_dispatch_time;
  *hooks.async_copy = async_copy;
  *hooks.async_copy_rect = async_copy_rect;
  if (hooks.async_copy_on_engine != nullptr) *hooks.async_copy_on_engine = async_copy_on_engine;
  if (is_intercepting_itself) {
    *hooks.signal_store = signal_store;
    *hooks.signal_store_relaxed = signal_store_relaxed;
  } else if (when_full(collector.runtime().release) == WhenFull::kStagesFew) {
    *hooks.signal_store = signal_store_unless_stalled;
    *hooks.signal_store_relaxed = signal_store_relaxed_unless_stalled;
  }
}

constexpr uint64_t kExitLimitNs = 20000000000;
constexpr uint64_t kQuickExitLimitNs = 200000000;

void finish_at_exit() {
  Collector* collector = current.exchange(nullptr);
  if (collector != nullptr) {
    if (collector->finish(kExitLimitNs)) ended.store(collector, std::memory_order_release);
    else collector->note_unfinished();
  }
  if (const Session* session = Session::if_open()) Collector::remove_pending_file(*session);
}

// May run inside a signal handler, with locks held that the last sweep waits for in vain.
void finish_at_quick_exit() {
  if (Collector* collector = current.exchange(nullptr)) collector->finish(kQuickExitLimitNs);
  if (const Session* session = Session::if_open()) Collector::remove_pending_file(*session);
}

// The child has none of the runtime's threads and none of its queues.
void forget_in_child() {
  ended.store(nullptr);
  doorbells.forget_all();
  stalled_queues.forget_all();
  if (Collector* collector = current.exchange(nullptr)) collector->forget_in_child();
}

bool load(HsaApiTable& tables) {
  runtime_came();
  Session* session = Session::current();
  if (session == nullptr) return true;
  HsaHooks hooks{};
  std::string reason;
  if (!take_tables(tables, runtime_exports, original, hooks, reason)) {
    session->facts().note("dispatches and copies not recorded: " + reason);
    if (settings().verbose) std::fprintf(stderr, "wavescope: not recorded: %s\n", reason.c_str());
    return true;
  }
  static const bool registered = [] {
    Session::at_finish(finish_at_exit);
    Session::at_quick_finish(finish_at_quick_exit);
    Session::at_fork_child(forget_in_child);
    return true;
  }();
  static_cast<void>(registered);
  shared_queues().forget_all();  // those of a runtime that was loaded before
  doorbells.forget_all();
  stalled_queues.forget_all();
  is_intercepting_itself = settings().interception == Interception::kOwn;
  try {
    auto* collector = new Collector(original, *session, settings());
    current.store(collector, std::memory_order_release);
    put_hooks(hooks, *collector);
  } catch (const std::bad_alloc&) {
    session->facts().note("dispatches and copies not recorded: the process may have no more memory");
  }
  return true;
}

}  // namespace
}  // namespace wavescope

extern "C" __attribute__((visibility("default"))) bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*) {
  return tables == nullptr || wavescope::load(*static_cast<wavescope::HsaApiTable*>(tables));
}

extern "C" __attribute__((visibility("default"))) void OnUnload() {
  wavescope::Collector* collector = wavescope::current.exchange(nullptr);
  wavescope::Collector* past = wavescope::ended.exchange(nullptr);
  if (collector == nullptr) collector = past;
  if (collector != nullptr) collector->finish_with_runtime();
}
