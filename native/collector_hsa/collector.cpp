#include "collector_hsa/collector.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "collector_hsa/doorbell_table.h"
#include "core/clock.h"

namespace wavescope {
namespace {

// Of more records in one sweep that the watch has filled in the first are far from the processor again when written.
constexpr uint32_t kFlood = 4096;

// What is complete can wait in memory that outlives the process; signals of the runtime are not in such memory.
long sweep_period_ns(const Settings& settings) { return settings.keeps_signals ? 4000000 : 1000000; }
// Who submits wakes the worker, unless the program rings the doorbell of a ring of ours past the runtime's functions.
long idle_ns(Interception interception) { return interception == Interception::kOwn ? 50000000 : 10000000000; }
constexpr std::size_t kSpareBlocks = 2;
constexpr std::size_t kSpareBlocksAtFirst = 8;
constexpr uint64_t kFinishLimitNs = 20000000000;

// One ops stream and one numbering of queues per session, also when the runtime is loaded several times.
struct SessionState {
  explicit SessionState(Session& owner) : session(&owner), log(owner), pending(owner) {}
  Session* const session;
  OpLog log;
  PendingFile pending;
  std::atomic<uint32_t> queues{0};
  std::atomic<bool> is_unfinished{false};
};

std::atomic<SessionState*> current_state{nullptr};

SessionState& state_of(Session& session) {
  SessionState* state = current_state.load(std::memory_order_acquire);
  if (state == nullptr || state->session != &session) {
    state = new SessionState(session);
    current_state.store(state, std::memory_order_release);
  }
  return *state;
}

// A ring in the GPU's memory takes packets in another order than they are written, unless it is told.
Interception possible(Interception wanted) {
  const char* in_device_memory = std::getenv("HSA_ALLOCATE_QUEUE_DEV_MEM");
  const bool is_there = in_device_memory != nullptr && *in_device_memory != '\0' && std::strcmp(in_device_memory, "0") != 0;
  return is_there ? Interception::kRuntime : wanted;
}

}  // namespace

Collector::Collector(const HsaApi& api, Session& session, const Settings& settings)
    : api_(api),
      runtime_(version_of_runtime(api)),
      session_(session),
      mode_(settings.mode),
      interception_(possible(settings.interception)),
      switch_word_(session.control().switch_word()),
      agents_(api_, session.facts()),
      pool_(api_, agents_, state_of(session).pending),
      app_signals_(api_, pool_),
      symbols_(api_, agents_, session.facts()),
      op_log_(state_of(session).log),
      copies_(*this),
      watch_(pool_, app_signals_),
      worker_({"wavescope", Urgency::kAsOthers, sweep_period_ns(settings), idle_ns(interception_), sweep_all, last_sweep,
               this}) {
  write_runtime_fact();
  if (interception_ != settings.interception) {
    note("queues left to the runtime's interception: HSA_ALLOCATE_QUEUE_DEV_MEM puts their rings into the GPU's memory");
  }
  if (api_.async_copy_enable != nullptr) api_.async_copy_enable(true);
}

void Collector::write_runtime_fact() {
  session_.facts().append(Fact("runtime")
                              .add("name", "hsa")
                              .add("version", runtime_.hsa)
                              .add("extension", runtime_.extension)
                              .add("library", runtime_.library)
                              .add("rocm", spelled_release(runtime_.release))
                              .add("path", runtime_.path)
                              .add("interception", interception_ == Interception::kOwn ? "own" : "runtime")
                              .add("limits", limits_of(runtime_.release)));
}

WavescopeCounterRecord& Collector::new_counters(uint16_t gpu, uint32_t queue) {
  WavescopeCounterRecord* counters = session_.new_counter();
  if (counters == nullptr) counters = new WavescopeCounterRecord{};
  counters->gpu = gpu;
  counters->queue = queue;
  publish(counters, 1);
  return *counters;
}

hsa_status_t Collector::intercept(const QueueRequest& request, InterceptedQueue& queue) const {
  if (request.is_for_shared_queue()) {
    const hsa_status_t status = request.make(api_.queue_create, &queue.below);
    if (status != HSA_STATUS_SUCCESS) return status;
  }
  const hsa_status_t status = request.make(api_.queue_intercept_create, &queue.intercepting);
  if (status != HSA_STATUS_SUCCESS && queue.below != nullptr) {
    api_.queue_destroy(queue.below);
    queue.below = nullptr;
  }
  return status;
}

hsa_status_t Collector::create_queue(const QueueRequest& request, InterceptedQueue& queue) {
  Gpu* gpu = agents_.gpu_of(request.agent);
  if (gpu == nullptr) return request.make(api_.queue_create, &queue.intercepting);
  if (create_with_own_ring(request, *gpu, queue)) return HSA_STATUS_SUCCESS;
  const hsa_status_t status = intercept(request, queue);
  if (status == HSA_STATUS_SUCCESS) {
    add_queue(queue.intercepting, *gpu, Interception::kRuntime);
    return status;
  }
  const hsa_status_t plain = request.make(api_.queue_create, &queue.intercepting);
  if (plain == HSA_STATUS_SUCCESS) {
    note("a queue not recorded: the runtime cannot intercept it (status " + std::to_string(status) + ")");
  }
  return plain;
}

// The queue that a GPU has for cooperative launches is the runtime's to intercept, as it is shared.
bool Collector::create_with_own_ring(const QueueRequest& request, Gpu& gpu, InterceptedQueue& queue) {
  if (interception_ != Interception::kOwn || request.is_for_shared_queue()) return false;
  if (request.make(api_.queue_create, &queue.intercepting) != HSA_STATUS_SUCCESS) return false;
  if (add_queue(queue.intercepting, gpu, Interception::kOwn)) return true;
  api_.queue_destroy(queue.intercepting);
  queue.intercepting = nullptr;
  return false;
}

bool Collector::add_queue(hsa_queue_t* queue, Gpu& gpu, Interception interception) {
  const uint32_t index = state_of(session_).queues.fetch_add(1);
  if (index >= CopyRecorder::kQueue) {
    note("a queue not recorded: there were more than 65534");
    return false;
  }
  api_.set_profiler_enabled(queue, 1);
  agents_.begin_pairs(gpu);
  if (!__atomic_exchange_n(&gpu.is_tried, true, __ATOMIC_ACQ_REL) && !pool_.try_kept_signals(gpu.agent)) {
    note("signals in shared memory not used: the GPU does not complete them; a kill may lose the last moment");
  }
  pool_.keep_spare(std::min<std::size_t>(kSpareBlocksAtFirst, queue->size / kSlots + 1));
  auto recorder =
      std::make_unique<QueueRecorder>(*this, queue, gpu, static_cast<uint16_t>(index), new_counters(gpu.index, index));
  if (interception == Interception::kRuntime && !recorder->intercept_with_runtime()) {
    note("a queue not recorded: the runtime takes no interceptor");
    return false;
  }
  if (interception == Interception::kOwn &&
      (!recorder->intercept_with_own_ring() || !doorbells.add(queue->doorbell_signal, recorder.get()))) {
    note("a queue left to the runtime's interception: no ring of the collector's could be put before it");
    return false;
  }
  session_.facts().append(Fact("queue")
                              .add("queue", index)
                              .add("gpu", uint32_t{gpu.index})
                              .add("address", reinterpret_cast<uint64_t>(queue))
                              .add("size", queue->size));
  const std::lock_guard<std::mutex> lock(sweep_mutex_);
  queues_.push_back(std::move(recorder));
  worker_.start();
  watch_.begin(pool_.at(0));
  return true;
}

hsa_status_t Collector::destroy_queue(hsa_queue_t* queue, const std::function<hsa_status_t()>& destroy) {
  const auto sweep = [&](bool last) {
    const std::lock_guard<std::mutex> lock(sweep_mutex_);
    for (auto& recorder : queues_) {
      if (recorder->queue() == queue) recorder->pending().sweep(op_log_, agents_, boottime_ns(), last);
    }
  };
  sweep(false);  // the application may free its signals afterwards
  const hsa_status_t status = destroy();
  if (status != HSA_STATUS_SUCCESS) return status;
  sweep(true);
  const std::lock_guard<std::mutex> lock(sweep_mutex_);
  const auto gone = std::find_if(queues_.begin(), queues_.end(), [&](auto& recorder) { return recorder->queue() == queue; });
  if (gone == queues_.end()) return status;
  (*gone)->pending().release();
  (*gone)->give_back_signals();
  past_queues_.push_back(std::move(*gone));
  queues_.erase(gone);
  return status;
}

Worker::Activity Collector::sweep_all(void* collector) {
  auto* self = static_cast<Collector*>(collector);
  const uint64_t now_ns = boottime_ns();
  PendingOps::Done taken;
  bool open = false;
  const auto sweep = [&](PendingOps& pending) {
    const PendingOps::Done done = pending.sweep(self->op_log_, self->agents_, now_ns, false);
    taken.all += done.all;
    taken.in_place += done.in_place;
    open = open || !pending.empty();
  };
  {
    const std::lock_guard<std::mutex> lock(self->sweep_mutex_);
    for (auto& recorder : self->queues_) {
      recorder->look_for_packets_left();
      sweep(recorder->pending());
    }
    for (auto& pending : self->copies_.pending()) sweep(*pending);
  }
  self->pool_.keep_spare(kSpareBlocks);
  if (taken.in_place > kFlood) return Worker::Activity::kFlooded;
  if (taken.all != 0) return Worker::Activity::kBusy;
  return open ? Worker::Activity::kWaiting : Worker::Activity::kIdle;
}

void Collector::last_sweep(void* collector) {
  auto* self = static_cast<Collector*>(collector);
  const std::lock_guard<std::mutex> lock(self->sweep_mutex_);
  const uint64_t now_ns = boottime_ns();
  for (auto& recorder : self->queues_) recorder->pending().sweep(self->op_log_, self->agents_, now_ns, true);
  for (auto& pending : self->copies_.pending()) pending->sweep(self->op_log_, self->agents_, now_ns, true);
  self->op_log_.trim();
  self->agents_.finish_pairs();
  self->become_inactive();
  self->session_.facts().append(Fact("cost")
                                    .add("worker_cpu_ns", thread_cpu_ns() + self->watch_.cpu_ns())
                                    .add("sweeps", self->worker_.rounds())
                                    .add("bytes", self->session_.bytes_written()));
}

void Collector::forget_in_child() {
  is_in_child_.store(true, std::memory_order_relaxed);
  become_inactive();
}

void Collector::become_inactive() {
  active_.store(false, std::memory_order_relaxed);
  switch_word_.store(&Control::kAskAlways, std::memory_order_relaxed);
}

bool Collector::finish(uint64_t limit_ns) {
  if (watch_.finish(limit_ns) && worker_.finish(limit_ns)) return true;
  state_of(session_).is_unfinished = true;
  return false;
}

void Collector::remove_pending_file(const Session& session) {
  SessionState* state = current_state.load(std::memory_order_acquire);
  if (state != nullptr && state->session == &session && !state->is_unfinished) state->pending.remove();
}

void Collector::finish_with_runtime() {
  if (!finish(kFinishLimitNs)) return note_unfinished();
  const std::lock_guard<std::mutex> lock(sweep_mutex_);
  for (auto& recorder : queues_) recorder->give_back_signals();
  pool_.destroy_signals();
  agents_.end();
}

}  // namespace wavescope
