#include "collector_hsa/queue_recorder.h"

#include <cstddef>
#include <cstring>
#include <memory>
#include <mutex>
#include <new>

#include "collector_hsa/collector.h"

namespace wavescope {
namespace {

constexpr uint64_t kFewPackets = 64;
constexpr uint32_t kRecordsAhead = 12;
constexpr uint16_t kBarrierHeader = HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE | 1 << HSA_PACKET_HEADER_BARRIER;

bool is_dispatch(const hsa_kernel_dispatch_packet_t& packet) {
  return (packet.header >> HSA_PACKET_HEADER_TYPE & 0xff) == HSA_PACKET_TYPE_KERNEL_DISPATCH;
}

void make_barrier(hsa_kernel_dispatch_packet_t* place, hsa_signal_t completion) {
  hsa_barrier_and_packet_t barrier;
  std::memset(&barrier, 0, sizeof barrier);
  barrier.header = kBarrierHeader;
  barrier.completion_signal = completion;
  std::memcpy(place, &barrier, sizeof barrier);
}

void count_paused(WavescopeCounterRecord& counters, uint64_t dispatches) {
  count(counters.seen, dispatches);
  count(counters.skipped[WAVESCOPE_SKIP_PAUSED], dispatches);
}

// By as large pieces as the runtime copies it by, at once: it would wait for bytes that were written apart from each other.
inline void copy_with_signal(const hsa_kernel_dispatch_packet_t& packet, uint64_t signal,
                             hsa_kernel_dispatch_packet_t* copy) {
  using Piece = uint64_t __attribute__((vector_size(16), aligned(8), may_alias));
  static_assert(sizeof packet == 4 * sizeof(Piece), "packet");
  static_assert(offsetof(hsa_kernel_dispatch_packet_t, completion_signal) == sizeof packet - sizeof signal, "signal");
  const auto* from = reinterpret_cast<const Piece*>(&packet);
  auto* to = reinterpret_cast<Piece*>(copy);
  for (int piece = 0; piece < 3; ++piece) to[piece] = from[piece];
  to[3] = Piece{from[3][0], signal};
}

}  // namespace

QueueRecorder::QueueRecorder(Collector& collector, hsa_queue_t* queue, Gpu& gpu, uint16_t index,
                             WavescopeCounterRecord& counters)
    : collector_(collector),
      control_(collector.control()),
      queue_(queue),
      index_(index),
      pending_(collector.pool(), collector.app_signals(), &gpu, counters) {}

bool QueueRecorder::intercept_with_runtime() {
  guard_.emplace(collector_.api(), queue_, when_full(collector_.runtime().release));
  return collector_.api().queue_intercept_register(queue_, on_packets, this) == HSA_STATUS_SUCCESS;
}

bool QueueRecorder::intercept_with_own_ring() {
  own_ring_.emplace(collector_.api(), queue_);
  return own_ring_->stand_before_queue();
}

void QueueRecorder::step_aside() {
  if (own_ring_) own_ring_->step_aside();
}

void QueueRecorder::give_back_signals() {
  if (guard_) guard_->give_back_signals();
}

inline void QueueRecorder::fill_record(SlotBlock* block, uint32_t slot, const Packet& packet, uint8_t flags) {
  const ThreadState& thread = thread_state();
  WavescopeOpRecord& record = block->records[slot];
  __builtin_prefetch(&block->records[(slot + kRecordsAhead) % kSlots], 1);
  record.kind = WAVESCOPE_OP_DISPATCH;
  record.flags = flags;
  record.gpu = pending_.gpu()->index;
  record.thread = thread.thread_id;
  record.correlation = thread.correlation;
  record.kernel = packet.kernel_object;
  record.grid[0] = packet.grid_size_x;
  record.grid[1] = packet.grid_size_y;
  record.grid[2] = packet.grid_size_z;
  record.workgroup[0] = packet.workgroup_size_x;
  record.workgroup[1] = packet.workgroup_size_y;
  record.workgroup[2] = packet.workgroup_size_z;
  record.queue = index_;
  record.marker = thread.marker;
}

// Where packets go from here: back to the runtime, which takes them to the GPU ...
struct QueueRecorder::RuntimeWay {
  static constexpr bool kMayAddPacket = true;
  RingGuard& guard;
  RingGuard::Writer writer;

  void pass(const Packet* packets, uint64_t count) const { guard.pass(packets, count, writer); }
  void pass_with(const Packet& packet, uint64_t completion) const {
    alignas(16) Packet copy;
    copy_with_signal(packet, completion, &copy);
    pass(&copy, 1);
  }
};

// ... or, one by one, to where the GPU reads them.
struct QueueRecorder::OwnWay {
  static constexpr bool kMayAddPacket = false;
  OwnRing& ring;

  void pass(const Packet* packets, uint64_t) const { ring.put(*packets, packets->completion_signal); }
  void pass_with(const Packet& packet, uint64_t completion) const { ring.put(packet, hsa_signal_t{completion}); }
};

// The usual packet, all in one piece: a dispatch without a signal of the application, or with one that it may keep.
template <typename Way>
inline void QueueRecorder::on_one(const Packet& packet, Way way) {
  if (__builtin_expect(!is_dispatch(packet) || !pending_.reserve(), 0)) return on_unusual(packet, way);
  SlotBlock* block = pending_.block();
  const uint32_t slot = pending_.slot();
  if (packet.completion_signal.handle != 0) {
    block->set_kind(slot, SlotKind::kInPlace);
    if (collector_.mode() == Mode::kLite ||
        !collector_.app_signals().adopt_app_signal(packet.completion_signal, block, slot)) {
      return on_unusual(packet, way);
    }
    wavescope::count(pending_.counters().seen);
    fill_record(block, slot, packet, WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_APP_SIGNAL);
    publish();
    collector_.watch().published(block);
    return way.pass(&packet, 1);
  }
  wavescope::count(pending_.counters().seen);
  block->set_kind(slot, SlotKind::kOwnSignal);
  fill_record(block, slot, packet, WAVESCOPE_OP_RAW_TICKS);
  publish();
  way.pass_with(packet, block->handle[slot]);
}

inline void QueueRecorder::publish() {
  pending_.publish();
  collector_.wake_worker();
}

// These two are apart from who calls them, which so needs no room on the stack.
__attribute__((noinline)) void QueueRecorder::record_one(const Packet& packet, RuntimeWay way) { on_one(packet, way); }

__attribute__((noinline)) void QueueRecorder::on_seldom(const Packet* packets, uint64_t count, RuntimeWay way) {
  if (!collector_.active()) {
    // In a forked child no GPU takes packets, so that there is nothing to wait for.
    return collector_.is_in_child() ? way.writer(packets, count) : way.pass(packets, count);
  }
  wavescope::count(pending_.counters().packets, count);
  if (!control_.recording()) return while_paused(packets, count, way);
  return count == 1 ? on_one(*packets, way) : on_batch(packets, count, way);
}

inline bool QueueRecorder::may_know(hsa_signal_t signal) const {
  return signal.handle != 0 && collector_.app_signals().has_any();
}

// Each of the ways a packet may go takes over where this ends.
void QueueRecorder::on_packets(const void* packets, uint64_t count, uint64_t index, void* recorder,
                               hsa_amd_queue_intercept_packet_writer writer) {
  auto* self = static_cast<QueueRecorder*>(recorder);
  const auto* typed = static_cast<const Packet*>(packets);
  WavescopeCounterRecord& counters = self->pending_.counters();
  const uint32_t switched = self->collector_.switched();
  if (count == 1 && switched == Control::kOff && !self->may_know(typed->completion_signal)) {
    wavescope::count(counters.packets);
    if (__builtin_expect(is_dispatch(*typed), 1)) count_paused(counters, 1);
    return self->guard_->pass_up_to(index + 1, typed, count, writer);
  }
  const RuntimeWay way{*self->guard_, writer};
  way.guard.set_next_index(index + count);
  if (__builtin_expect(count != 1 || switched != Control::kOn, 0)) return self->on_seldom(typed, count, way);
  wavescope::count(counters.packets);
  self->record_one(*typed, way);
}

void QueueRecorder::on_doorbell(uint64_t last_index) {
  const std::lock_guard<SpinLock> lock(own_ring_->lock());
  has_rung_ = true;
  if (!own_ring_->stands()) return;
  own_ring_->announce(last_index + 1);
  pass_on_announced();
}

inline void QueueRecorder::pass_on_announced() {
  const OwnWay way{*own_ring_};
  while (const Packet* packet = own_ring_->next_announced()) {
    if (__builtin_expect(!collector_.active(), 0)) {
      way.pass(packet, 1);
      continue;
    }
    wavescope::count(pending_.counters().packets);
    if (__builtin_expect(!control_.recording(), 0)) while_paused(packet, 1, way);
    else on_one(*packet, way);
  }
  own_ring_->ring_doorbell();
}

void QueueRecorder::look_for_packets_left() {
  if (!own_ring_ || !own_ring_->lock().try_lock()) return;
  const std::lock_guard<SpinLock> lock(own_ring_->lock(), std::adopt_lock);
  if (!own_ring_->stands() || !own_ring_->announce_what_was_left()) return;
  pass_on_announced();
  if (has_rung_ || has_told_) return;
  has_told_ = true;
  collector_.note(
      "packets of a queue passed on late: the program rings its doorbell past the runtime's functions; record it "
      "without --interception own");
}

template <typename Way>
void QueueRecorder::while_paused(const Packet* packets, uint64_t count, Way way) {
  uint64_t dispatches = 0;
  for (uint64_t at = 0; at < count; ++at) {
    dispatches += is_dispatch(packets[at]);
    release_signal(packets[at]);
  }
  count_paused(pending_.counters(), dispatches);
  way.pass(packets, count);
}

// Of a packet that is not timed; the signal is at the same place in every kind of packet.
inline void QueueRecorder::release_signal(const Packet& packet) {
  if (packet.completion_signal.handle != 0) collector_.app_signals().release_signal(packet.completion_signal, false);
}

template <typename Way>
void QueueRecorder::on_unusual(const Packet& packet, Way way) {
  if (!is_dispatch(packet) || !wanted(packet, false)) {
    release_signal(packet);
    return way.pass(&packet, 1);
  }
  alignas(64) Packet packets[2];
  packets[0] = packet;
  const uint32_t passed = instrument(packets, Way::kMayAddPacket, WAVESCOPE_OP_RAW_TICKS);
  way.pass(packets, passed);
}

// None is added, as their room is limited.
template <typename Way>
void QueueRecorder::on_batch(const Packet* packets, uint64_t count, Way way) {
  alignas(64) Packet few[kFewPackets];
  std::unique_ptr<Packet[]> many;
  if (count > kFewPackets) many.reset(new (std::nothrow) Packet[count]);
  Packet* copies = count > kFewPackets ? many.get() : few;
  if (copies != nullptr) std::memcpy(copies, packets, count * sizeof(Packet));
  for (uint64_t at = 0; at < count; ++at) {
    if (!is_dispatch(packets[at]) || !wanted(packets[at], true)) {
      release_signal(packets[at]);
    } else if (copies == nullptr) {
      wavescope::count(pending_.counters().lost[WAVESCOPE_LOSS_BUFFER_FULL]);
    } else {
      instrument(&copies[at], false, WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_GRAPH);
    }
  }
  way.pass(copies == nullptr ? packets : copies, count);
}

// Whether the dispatch is to be timed; counts it, and why not.
bool QueueRecorder::wanted(const Packet& packet, bool in_batch) {
  WavescopeCounterRecord& counters = pending_.counters();
  wavescope::count(counters.seen);
  if (in_batch && !times_batches(collector_.mode())) {
    wavescope::count(counters.skipped[WAVESCOPE_SKIP_GRAPH_BATCH]);
    return false;
  }
  if (packet.completion_signal.handle != 0 && collector_.mode() == Mode::kLite) {
    wavescope::count(counters.skipped[WAVESCOPE_SKIP_APP_SIGNAL]);
    return false;
  }
  return true;
}

// Gives the packet a slot and, unless it may keep its own, our signal. Returns how many packets there are now: two when a
// barrier follows that completes the application's signal.
uint32_t QueueRecorder::instrument(Packet* packet, bool may_add_packet, uint8_t flags) {
  AppSignals& signals = collector_.app_signals();
  if (!pending_.reserve()) {
    wavescope::count(pending_.counters().lost[WAVESCOPE_LOSS_BUFFER_FULL]);
    release_signal(*packet);
    return 1;
  }
  SlotBlock* block = pending_.block();
  const uint32_t slot = pending_.slot();
  const hsa_signal_t app = packet->completion_signal;
  SlotKind kind = SlotKind::kOwnSignal;
  if (app.handle != 0) {
    block->set_kind(slot, SlotKind::kInPlace);
    if (signals.adopt_app_signal(app, block, slot)) kind = SlotKind::kInPlace;
    else if (may_add_packet && signals.forward(app, block, slot)) kind = SlotKind::kForwarded;
    else {
      signals.release_signal(app, false);
      wavescope::count(pending_.counters().skipped[WAVESCOPE_SKIP_APP_SIGNAL]);
      return 1;
    }
  }
  if (kind == SlotKind::kInPlace) flags = static_cast<uint8_t>(flags | WAVESCOPE_OP_APP_SIGNAL);
  else packet->completion_signal.handle = block->handle[slot];
  if (kind == SlotKind::kForwarded) make_barrier(packet + 1, app);
  block->set_kind(slot, kind);
  fill_record(block, slot, *packet, flags);
  publish();
  if (kind == SlotKind::kInPlace) collector_.watch().published(block);
  return kind == SlotKind::kForwarded ? 2 : 1;
}

}  // namespace wavescope
