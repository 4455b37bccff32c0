#include "collector_hsa/queue_recorder.h"

#include <cstring>
#include <memory>
#include <new>

#include "collector_hsa/collector.h"

namespace wavescope {
namespace {

constexpr uint64_t kFewPackets = 64;
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

}  // namespace

QueueRecorder::QueueRecorder(Collector& collector, hsa_queue_t* queue, Gpu& gpu, uint16_t index,
                             WavescopeCounterRecord& counters)
    : collector_(collector),
      queue_(queue),
      index_(index),
      pending_(collector.pool(), collector.app_signals(), &gpu, counters),
      ring_(collector.api(), queue, may_have(RuntimeLimit::kFullQueue, collector.runtime().release)) {}

inline void QueueRecorder::fill_record(SlotBlock* block, uint32_t slot, const Packet& packet, uint8_t flags) {
  const ThreadState& thread = thread_state();
  WavescopeOpRecord& record = block->records[slot];
  __builtin_prefetch(&block->records[(slot + 4) % kSlots], 1);
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

// The usual packet, all in one piece: a dispatch without a signal of the application, or with one that it may keep.
void QueueRecorder::on_one(const Packet& packet, uint64_t next_index, Writer writer) {
  if (__builtin_expect(!is_dispatch(packet) || !pending_.reserve(), 0)) return on_unusual(packet, next_index, writer);
  SlotBlock* block = pending_.block();
  const uint32_t slot = pending_.slot();
  if (packet.completion_signal.handle != 0) {
    block->set_kind(slot, SlotKind::kInPlace);
    if (collector_.mode() == Mode::kLite ||
        !collector_.app_signals().adopt_app_signal(packet.completion_signal, block, slot)) {
      return on_unusual(packet, next_index, writer);
    }
    wavescope::count(pending_.counters().seen);
    fill_record(block, slot, packet, WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_APP_SIGNAL);
    publish();
    collector_.watch().published(block);
    return ring_.pass(&packet, 1, next_index, writer);
  }
  wavescope::count(pending_.counters().seen);
  alignas(64) Packet copy = packet;
  copy.completion_signal.handle = block->handle[slot];
  block->set_kind(slot, SlotKind::kOwnSignal);
  fill_record(block, slot, packet, WAVESCOPE_OP_RAW_TICKS);
  publish();
  ring_.pass(&copy, 1, next_index, writer);
}

inline void QueueRecorder::publish() {
  pending_.publish();
  collector_.wake_worker();
}

// Has no frame of its own: each of the ways a packet may go takes over where it ends.
void QueueRecorder::on_packets(const void* packets, uint64_t count, uint64_t index, void* recorder,
                               hsa_amd_queue_intercept_packet_writer writer) {
  auto* self = static_cast<QueueRecorder*>(recorder);
  const auto* typed = static_cast<const Packet*>(packets);
  const uint64_t next_index = index + count;
  if (__builtin_expect(!self->collector_.active(), 0)) return self->after_the_end(typed, count, next_index, writer);
  wavescope::count(self->pending_.counters().packets, count);
  if (__builtin_expect(!self->collector_.recording(), 0)) return self->while_paused(typed, count, next_index, writer);
  if (__builtin_expect(count == 1, 1)) return self->on_one(*typed, next_index, writer);
  self->on_batch(typed, count, next_index, writer);
}

void QueueRecorder::after_the_end(const Packet* packets, uint64_t count, uint64_t next_index, Writer writer) {
  // In a forked child no GPU takes packets, so that there is nothing to wait for.
  if (collector_.is_in_child()) return writer(packets, count);
  ring_.pass(packets, count, next_index, writer);
}

void QueueRecorder::while_paused(const Packet* packets, uint64_t count, uint64_t next_index, Writer writer) {
  uint64_t dispatches = 0;
  for (uint64_t at = 0; at < count; ++at) {
    dispatches += is_dispatch(packets[at]);
    release_signal(packets[at]);
  }
  wavescope::count(pending_.counters().seen, dispatches);
  wavescope::count(pending_.counters().skipped[WAVESCOPE_SKIP_PAUSED], dispatches);
  ring_.pass(packets, count, next_index, writer);
}

// Of a packet that is not timed; the signal is at the same place in every kind of packet.
inline void QueueRecorder::release_signal(const Packet& packet) {
  if (packet.completion_signal.handle != 0) collector_.app_signals().release_signal(packet.completion_signal, false);
}

void QueueRecorder::on_unusual(const Packet& packet, uint64_t next_index, Writer writer) {
  if (!is_dispatch(packet) || !wanted(packet, false)) {
    release_signal(packet);
    return ring_.pass(&packet, 1, next_index, writer);
  }
  alignas(64) Packet packets[2];
  packets[0] = packet;
  const uint32_t passed = instrument(packets, true, WAVESCOPE_OP_RAW_TICKS);
  ring_.pass(packets, passed, next_index, writer);
}

// All packets with one call of the writer, as older runtimes allow no more; none is added, as their room is limited.
void QueueRecorder::on_batch(const Packet* packets, uint64_t count, uint64_t next_index, Writer writer) {
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
  ring_.pass(copies == nullptr ? packets : copies, count, next_index, writer);
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
