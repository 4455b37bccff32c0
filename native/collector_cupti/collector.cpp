#include "collector_cupti/collector.h"

#include <algorithm>
#include <cstdio>

#include "core/clock.h"
#include "core/clock_period.h"

namespace wavescope::cupti {
namespace {

constexpr uint64_t kMillisecondNs = 1000000;
constexpr std::size_t kBufferBytes = 4 << 20;
constexpr uint32_t kMostBuffers = 128;
constexpr uint32_t kSpareBuffers = 4;

constexpr uint64_t kControlPollNs = 20 * kMillisecondNs;
constexpr uint64_t kClockPeriodNs = 200 * kMillisecondNs;
constexpr uint64_t kDrainPollNs = 5 * kMillisecondNs;
constexpr uint64_t kQuickDrainNs = 20 * kMillisecondNs;
// So many kernels without times are more than an odd one: the buffers on the GPU are used up.
constexpr uint64_t kManyLostTimes = 1000;
constexpr uint64_t kRenewalPeriodNs = 10000 * kMillisecondNs;

bool is_call(CuptiCallbackDomain domain) {
  return domain == CuptiCallbackDomain::kRuntimeApi || domain == CuptiCallbackDomain::kDriverApi;
}

}  // namespace

std::atomic<Collector*> Collector::current_{nullptr};

Collector::Collector(const CuptiLibrary& library, Session& session, const Settings& settings)
    : library_(library),
      session_(session),
      mode_(settings.mode),
      is_sliced_(settings.mode == Mode::kLite && settings.slice_ns != 0 && library.switches_records()),
      flush_period_ns_(settings.flush_ns),
      coverage_(session),
      decoder_(session, library_, notes_, coverage_),
      api_(session, library_, notes_, coverage_, settings.mode),
      pool_(kBufferBytes, kMostBuffers),
      clocks_(library_, session.facts()),
      devices_(session.facts()),
      attachment_(library_, notes_.recorded_time()),
      slices_({library_, session_, attachment_, api_, decoder_, coverage_}, settings),
      thread_({"wavescope-cupti", round, last_work, this}) {
  if (mode_ == Mode::kLite && !is_sliced_) api_.skip_graphs(WAVESCOPE_SKIP_GRAPH_BATCH);
  if (mode_ == Mode::kLite && !is_sliced_ && settings.slice_ns != 0) {
    session_.facts().note("recorded without slices: CUPTI before 13.0 may end a program whose records go on again");
  }
}

bool Collector::begin(std::string& reason) {
  const std::lock_guard<std::mutex> lock(mutex_);
  current_.store(this, std::memory_order_release);
  const bool records_at_once = session_.recording();
  if (!records_at_once) attachment_.forget();  // what must be on from the beginning never will be
  const bool is_begun = !records_at_once || attach(reason);
  if (is_begun && thread_.start()) {
    session_.control().watch(control_changed, this);
    return true;
  }
  if (is_begun) reason = "the system gives it no thread";
  attachment_.let_go();
  active_.store(false);
  current_.store(nullptr);
  return false;
}

void Collector::on_callback(void* collector, CuptiCallbackDomain domain, uint32_t callback_id, const void* data) {
  auto* self = static_cast<Collector*>(collector);
  if (!self->active_.load(std::memory_order_relaxed)) return;
  self->api_.on_callback(domain, callback_id, data);
  if (is_call(domain) && data != nullptr) self->watch_call(*static_cast<const ApiCallbackData*>(data));
}

void Collector::watch_call(const ApiCallbackData& call) {
  if (__builtin_expect(!was_called_.load(std::memory_order_relaxed), 0) && !was_called_.exchange(true)) {
    if (at_first_call_ != nullptr) at_first_call_();
  }
  if (call.site != CallbackSite::kExit) return;
  // Here and not at the end, when the worker of a short program had no time for it: its GPU would be another one than that
  // of the next process.
  if (__builtin_expect(!was_left_.load(std::memory_order_relaxed), 0) && !was_left_.exchange(true)) describe_devices();
  if (__builtin_expect(!detach_wanted_.load(std::memory_order_relaxed), 1)) return;
  bool wanted = true;
  if (!detach_wanted_.compare_exchange_strong(wanted, false)) return;
  library_.finalize();
  is_detached_.store(true);
  thread_.wake();
}

void Collector::on_request(uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  Collector* self = current();
  *buffer = self == nullptr ? nullptr : self->pool_.take();
  *bytes = *buffer == nullptr ? 0 : self->pool_.buffer_bytes();
  *most_records = 0;
  if (self != nullptr && self->pool_.ready() == 0) self->thread_.wake();
}

void Collector::on_completion(CudaContext, uint32_t, uint8_t* buffer, std::size_t, std::size_t valid_bytes) {
  if (Collector* self = current()) self->complete(buffer, valid_bytes);
}

bool Collector::complete(uint8_t* buffer, std::size_t valid_bytes) {
  if (!pool_.owns(buffer)) return false;
  if (valid_bytes != 0 && active_.load(std::memory_order_relaxed)) {
    decoder_.decode(buffer, valid_bytes);
    clocks_.introduce(decoder_.gpus());
  }
  pool_.give_back(buffer, valid_bytes);
  return true;
}

uint64_t Collector::round(void* collector) { return static_cast<Collector*>(collector)->one_round(); }

uint64_t Collector::one_round() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (finished_.load()) return kControlPollNs;  // only the last work is left
  const uint64_t now_ns = boottime_ns();
  follow_wishes(now_ns);
  uint64_t sleep_ns = kControlPollNs;
  if (state_ == State::kOn) sleep_ns = std::min(sleep_ns, record(now_ns));
  if (state_ == State::kDraining) sleep_ns = kDrainPollNs;
  const uint64_t attach_after_ns = attach_after_ns_.load();
  if (state_ == State::kOff && attach_after_ns > now_ns) sleep_ns = std::min(sleep_ns, attach_after_ns - now_ns);
  if (was_attached_) describe_devices();
  if (was_attached_) pool_.refill(kSpareBuffers);
  rounds_done_.fetch_add(1);
  return sleep_ns;
}

// Their clocks, too, before there are records: what a kill leaves has both.
void Collector::describe_devices() {
  if (devices_.is_done() || finished_.load() || !devices_.describe()) return;
  const uint32_t count = std::min(devices_.count(), Coverage::kMostGpus - 1);
  clocks_.introduce((uint64_t{1} << count) - 1);
}

// What is to be done while it records; how long until there is more.
uint64_t Collector::record(uint64_t now_ns) {
  if (now_ns >= next_clock_ns_) {
    clocks_.take(decoder_.gpus());
    next_clock_ns_ = now_ns + clock_period_ns(kClockPeriodNs, clock_readings_++);
  }
  if (now_ns >= std::min(next_flush_ns_, slices_.flush_at_ns())) {
    next_flush_ns_ = now_ns + flush_period_ns_;
    slices_.flushed();
    flush(0);
    look_for_lost_times(now_ns);
  }
  const uint64_t until_flush_ns = next_flush_ns_ - now_ns;
  return is_sliced_ ? std::min(until_flush_ns, slices_.step(now_ns, dropped_)) : until_flush_ns;
}

bool Collector::flush(uint32_t flag) {
  if (!active_.load()) return false;  // it took too long, and the process has ended
  const CuptiResult result = library_.activity_flush_all(flag);
  if (active_.load()) count_drops();
  return result == CuptiResult::kSuccess;
}

void Collector::count_drops() {
  std::size_t dropped = 0;
  if (library_.activity_get_dropped(nullptr, 0, &dropped) != CuptiResult::kSuccess || dropped == 0) return;
  dropped_ += dropped;
  // They may be of copies, too: no more kernels are lost than are missing.
  const uint64_t gpus = decoder_.gpus();
  const auto gpu = gpus == 0 ? 0u : static_cast<uint32_t>(__builtin_ctzll(gpus));
  coverage_.add_lost(gpu, WAVESCOPE_LOSS_BUFFER_FULL, std::min<uint64_t>(dropped, coverage_.missing()));
}

// When CUPTI's buffers on the GPU are used up all times are 0 from then on; taken anew it begins with empty ones.
void Collector::look_for_lost_times(uint64_t now_ns) {
  const uint64_t lost = coverage_.lost(WAVESCOPE_LOSS_TIMESTAMPS);
  if (lost < times_lost_ + kManyLostTimes || now_ns < next_renewal_ns_ || api_.saw_graphs()) return;
  renews_ = true;
  next_renewal_ns_ = now_ns + kRenewalPeriodNs;
  session_.facts().note("CUPTI gave no times of " + std::to_string(lost - times_lost_) + " kernels before " +
                        since_start(now_ns) + ": it was let go of and taken anew");
}

bool Collector::finish(uint64_t limit_ns) {
  if (finished_.exchange(true)) return true;
  is_quick_end_.store(limit_ns < kLongestDrainNs);
  const bool is_done = thread_.finish(limit_ns);
  active_.store(false);
  Collector* self = this;
  current_.compare_exchange_strong(self, nullptr);
  return is_done;
}

void Collector::last_work(void* collector) {
  auto* self = static_cast<Collector*>(collector);
  const std::lock_guard<std::mutex> lock(self->mutex_);
  self->is_yielded_.store(true);  // nothing is to be taken out of the process any more
  self->api_.finish();
  if (self->state_ == State::kOn) self->stop_recording(boottime_ns(), WAVESCOPE_SKIP_PAUSED);
  if (self->state_ == State::kDraining) self->drain_here(self->is_quick_end_.load() ? kQuickDrainNs : kLongestDrainNs);
  self->detach_wanted_.store(false);
  self->active_.store(false);
  self->write_end();
}

void Collector::write_end() {
  decoder_.finish();
  coverage_.close(WAVESCOPE_LOSS_PENDING_AT_EXIT);
  if (const uint64_t slices = slices_.without_window()) {
    session_.facts().note("slices of no use: streams ran too far apart, or records were dropped", slices);
  }
  if (dropped_ != 0) session_.facts().note("records that CUPTI dropped: it had no buffer for them", dropped_);
  session_.facts().append(Fact("cost")
                              .add("worker_cpu_ns", thread_cpu_ns())
                              .add("sweeps", thread_.rounds())
                              .add("bytes", session_.bytes_written()));
}

void Collector::forget_in_child() {
  active_.store(false);
  current_.store(nullptr);
}

std::string Collector::since_start(uint64_t ns) const {
  char text[32];
  std::snprintf(text, sizeof text, "%.3f s", static_cast<double>(ns - session_.start_ns()) / 1e9);
  return text;
}

}  // namespace wavescope::cupti
