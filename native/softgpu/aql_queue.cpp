#include "softgpu/aql_queue.h"

#include <algorithm>
#include <utility>

namespace softgpu {

namespace {

constexpr uint64_t flight_capacity = 1024;
// How far ops are taken ahead of their start: far enough to survive being descheduled for a while.
constexpr uint64_t lookahead_ns = 1'000'000;
// Packets taken before the GPU's other queues have their turn.
constexpr int packets_per_turn = 256;

// What a handle stands for; its memory may be the host's, which the GPU knows by another address.
Signal* signal_at(const Memory& memory, uint64_t handle) {
  return reinterpret_cast<Signal*>(memory.translate(static_cast<uintptr_t>(handle)));
}

bool is_zero(const Memory& memory, uint64_t signal) {
  return __atomic_load_n(&signal_at(memory, signal)->value, __ATOMIC_ACQUIRE) == 0;
}

bool is_met(const Memory& memory, const BarrierPacket& packet, WaitFor wanted) {
  bool has_signals = false;
  for (const uint64_t signal : packet.awaited_signal) {
    if (!signal) continue;
    has_signals = true;
    const bool is_done = is_zero(memory, signal);
    if (wanted == WaitFor::any && is_done) return true;
    if (wanted == WaitFor::all && !is_done) return false;
  }
  return wanted == WaitFor::all || !has_signals;
}

bool is_met(const Memory& memory, const BarrierValuePacket& packet) {
  const int64_t value = __atomic_load_n(&signal_at(memory, packet.signal)->value, __ATOMIC_ACQUIRE) & packet.mask;
  switch (packet.comparison) {
    case Comparison::equal: return value == packet.value;
    case Comparison::not_equal: return value != packet.value;
    case Comparison::less: return value < packet.value;
    case Comparison::greater_or_equal: break;
  }
  return value >= packet.value;
}

}  // namespace

AqlQueue::AqlQueue(uint64_t id, const QueueServices& services, const QueueMemory& memory, const uint32_t* properties,
                   ErrorReport error)
    : Queue(id, services, memory),
      properties_(properties),
      error_(error),
      slot_mask_(memory.ring_bytes / sizeof(Packet) - 1),
      next_(__atomic_load_n(memory.read_index, __ATOMIC_ACQUIRE)),
      visible_(next_),
      flights_(flight_capacity) {}

Progress AqlQueue::advance() {
  Progress progress;
  if (!has_failed_ && !is_suspended()) take_packets(progress);
  if (first_flight_ != end_flight_) {
    progress.has_moved |= retire(services_.clock.now_ns());
    if (first_flight_ != end_flight_) progress.next_ns = next_due_ns();
  }
  return progress;
}

Packet* AqlQueue::slot(uint64_t index) const { return reinterpret_cast<Packet*>(memory_.ring) + (index & slot_mask_); }

// Whether there are packets to take.
bool AqlQueue::look_for_packets() {
  if (next_ < visible_) return true;
  uint64_t limit = 0;
  if (services_.pacing.needs_doorbell) {
    announced_ = std::max(announced_, __atomic_load_n(memory_.doorbell, __ATOMIC_ACQUIRE) + 1);
    limit = announced_;
  } else {
    limit = __atomic_load_n(memory_.write_index, __ATOMIC_ACQUIRE);
  }
  limit = std::min(limit, next_ + slot_mask_ + 1);
  while (visible_ < limit) {
    const uint16_t header = __atomic_load_n(&slot(visible_)->dispatch.header, __ATOMIC_ACQUIRE);
    if (packet_type(header) == PacketType::invalid) break;
    ++visible_;
  }
  if (next_ == visible_) return false;
  visible_at_ns_ = services_.clock.now_ns();
  return true;
}

// Whether the next op would start further in the future than ops are taken ahead.
bool AqlQueue::is_too_early() {
  if (free_at_ns_ <= known_now_ns_ + lookahead_ns) return false;
  known_now_ns_ = services_.clock.now_ns();
  return free_at_ns_ > known_now_ns_ + lookahead_ns;
}

void AqlQueue::take_packets(Progress& progress) {
  for (int taken = 0; taken < packets_per_turn && look_for_packets(); ++taken) {
    if (is_too_early()) return;
    if (end_flight_ - first_flight_ == flight_capacity) {
      progress.has_moved |= retire(services_.clock.now_ns());
      if (end_flight_ - first_flight_ == flight_capacity) return;
    }
    Packet* place = slot(next_);
    const Packet packet = *place;
    const Outcome outcome = take(packet);
    if (outcome == Outcome::waits) {
      progress.is_blocked = true;
      return;
    }
    progress.has_moved = true;
    if (outcome == Outcome::failed) return;
    __atomic_store_n(&place->dispatch.header, static_cast<uint16_t>(PacketType::invalid), __ATOMIC_RELEASE);
    ++next_;
    __atomic_store_n(memory_.read_index, next_, __ATOMIC_RELEASE);
    unmet_ns_ = 0;
  }
}

AqlQueue::Outcome AqlQueue::take(const Packet& packet) {
  switch (packet_type(packet.dispatch.header)) {
    case PacketType::kernel_dispatch: return take_dispatch(packet.dispatch);
    case PacketType::barrier_and: return take_barrier(packet.barrier, WaitFor::all);
    case PacketType::barrier_or: return take_barrier(packet.barrier, WaitFor::any);
    case PacketType::vendor:
      if (packet.barrier_value.format == vendor_barrier_value) return take_barrier_value(packet.barrier_value);
      // Others hold commands for caches, of which there are none here.
      return pass_barrier(start_ns(), packet.dispatch.completion_signal);
    case PacketType::invalid:
    case PacketType::agent_dispatch: break;
  }
  stop(static_cast<uint32_t>(QueueError::packet_unsupported));
  return Outcome::failed;
}

AqlQueue::Outcome AqlQueue::take_dispatch(const DispatchPacket& packet) {
  if (!packet.kernel_object) {
    stop(static_cast<uint32_t>(QueueError::code_invalid));
    return Outcome::failed;
  }
  if (!packet.workgroup_size[0] || !packet.workgroup_size[1] || !packet.workgroup_size[2]) {
    stop(static_cast<uint32_t>(QueueError::workgroup_size_invalid));
    return Outcome::failed;
  }
  Kernel& kernel = services_.kernels.of(packet.kernel_object);
  uint64_t start = start_ns();
  if (kernel.built_in) {
    if (kernel.built_in(packet, services_.memory) == BuiltInOutcome::not_yet) {
      unmet_ns_ = services_.clock.now_ns();
      return Outcome::waits;
    }
    if (unmet_ns_) start = std::max(start, services_.clock.now_ns());
  }
  Flight flight{start, 0, packet.completion_signal, next_, &kernel, {}};
  if (!kernel.faults.empty()) flight.faults = FaultTable::effects(kernel.faults);
  const uint64_t duration = with_contention(kernel.next_duration_ns(), start);
  const uint64_t longer_by = flight.faults.longer_by_ns;
  flight.end_ns = longer_by == never_ns ? never_ns : start + duration + longer_by;
  add_flight(flight);
  return Outcome::taken;
}

unsigned AqlQueue::signals_that_came(const BarrierPacket& packet) const {
  unsigned came = 0;
  for (int index = 0; index < barrier_signal_count; ++index) {
    const uint64_t signal = packet.awaited_signal[index];
    if (!signal || is_zero(services_.memory, signal)) came |= 1U << index;
  }
  return came;
}

AqlQueue::Outcome AqlQueue::take_barrier(const BarrierPacket& packet, WaitFor wanted) {
  const uint64_t checked_ns = services_.clock.now_ns();
  const unsigned came = signals_that_came(packet);
  if (!is_met(services_.memory, packet, wanted)) {
    unmet_ns_ = checked_ns;
    came_before_ = came;
    return Outcome::waits;
  }
  if (!unmet_ns_) return pass_barrier(0, packet.completion_signal);
  const uint64_t now = services_.clock.now_ns();
  uint64_t first_ns = now;
  uint64_t last_ns = 0;
  for (int index = 0; index < barrier_signal_count; ++index) {
    if (!(came & ~came_before_ & (1U << index))) continue;
    const uint64_t met_ns = services_.signal_ends.met_ns(packet.awaited_signal[index], unmet_ns_, now);
    first_ns = std::min(first_ns, met_ns);
    last_ns = std::max(last_ns, met_ns);
  }
  return pass_barrier(wanted == WaitFor::all ? last_ns : first_ns, packet.completion_signal);
}

AqlQueue::Outcome AqlQueue::take_barrier_value(const BarrierValuePacket& packet) {
  const uint64_t checked_ns = services_.clock.now_ns();
  if (packet.signal && !is_met(services_.memory, packet)) {
    unmet_ns_ = checked_ns;
    return Outcome::waits;
  }
  const uint64_t met_ns = unmet_ns_ ? services_.signal_ends.met_ns(packet.signal, unmet_ns_, services_.clock.now_ns()) : 0;
  return pass_barrier(met_ns, packet.completion_signal);
}

AqlQueue::Outcome AqlQueue::pass_barrier(uint64_t met_ns, uint64_t signal) {
  const uint64_t start = start_ns();
  add_flight({start, std::max(start, met_ns), signal, next_, nullptr, {}});
  return Outcome::taken;
}

uint64_t AqlQueue::start_ns() const { return std::max(visible_at_ns_, free_at_ns_); }

uint64_t AqlQueue::with_contention(uint64_t duration_ns, uint64_t start) const {
  const uint64_t percent = services_.pacing.contention_percent;
  if (!percent) return duration_ns;
  // This queue is not busy at the start of its own op.
  return duration_ns + duration_ns * percent * services_.late.busy_queues(start) / 100;
}

void AqlQueue::add_flight(const Flight& flight) {
  flights_[end_flight_++ % flight_capacity] = flight;
  free_at_ns_ = flight.end_ns;
}

// Logs the ops that have ended by now and completes their signals; whether somebody can notice.
bool AqlQueue::retire(uint64_t now_ns) {
  bool is_noticed = false;
  while (first_flight_ != end_flight_ && flights_[first_flight_ % flight_capacity].end_ns <= now_ns) {
    const Flight& flight = flights_[first_flight_ % flight_capacity];
    is_noticed |= flight.signal || flight.faults.error_code;
    if (flight.faults.error_code) {
      stop(flight.faults.error_code);
      first_flight_ = end_flight_;
      break;
    }
    if (services_.truth.is_wanted()) log(flight);
    if (flight.signal) complete(flight, now_ns);
    ++first_flight_;
  }
  return is_noticed;
}

// When there is something to do: an end that somebody can notice, or room for more ops. Ends that nobody can notice
// wait for the next of these, so that a long run of kernels does not keep a processor busy.
uint64_t AqlQueue::next_due_ns() {
  next_observed_ = std::max(next_observed_, first_flight_);
  while (next_observed_ < end_flight_) {
    const Flight& flight = flights_[next_observed_ % flight_capacity];
    if (flight.signal || flight.faults.error_code) break;
    ++next_observed_;
  }
  const bool has_more = next_ < visible_;
  const uint64_t refill_ns = has_more ? free_at_ns_ - std::min(free_at_ns_, lookahead_ns / 2) : free_at_ns_;
  if (next_observed_ == end_flight_) return refill_ns;
  return std::min(refill_ns, flights_[next_observed_ % flight_capacity].end_ns);
}

void AqlQueue::complete(const Flight& flight, uint64_t now_ns) {
  Signal* signal = signal_at(services_.memory, flight.signal);
  const Timestamps timestamps = flight.faults.timestamps;
  if ((__atomic_load_n(properties_, __ATOMIC_RELAXED) & queue_profiling_bit) && timestamps != Timestamps::lost) {
    uint64_t start = services_.gpu_clock.ticks(flight.start_ns);
    uint64_t end = services_.gpu_clock.ticks(flight.end_ns);
    if (timestamps == Timestamps::equal) end = start;
    if (timestamps == Timestamps::reversed) std::swap(start, end);
    signal->start_ticks = start;
    signal->end_ticks = end;
  }
  // Once its value changes the signal may be destroyed or used again.
  const uint64_t mailbox = signal->event_mailbox;
  const uint32_t event_id = signal->event_id;
  services_.signal_ends.record(flight.signal, flight.end_ns, now_ns);
  __atomic_fetch_sub(&signal->value, 1, __ATOMIC_ACQ_REL);
  if (!mailbox) return;
  __atomic_store_n(reinterpret_cast<uint64_t*>(mailbox), uint64_t{event_id}, __ATOMIC_RELEASE);
  if (flight.faults.interrupt_delay_ns) {
    services_.late.raise_at(now_ns + flight.faults.interrupt_delay_ns, event_id);
  } else {
    services_.interrupts.raise(event_id);
  }
}

void AqlQueue::log(const Flight& flight) {
  const bool is_dispatch = flight.kernel != nullptr;
  services_.truth.add({services_.gpu_index, id_, flight.packet, is_dispatch ? "dispatch" : "barrier",
                       is_dispatch ? std::string_view(flight.kernel->name) : std::string_view(), flight.start_ns,
                       flight.end_ns, services_.clock.now_ns(), 0, flight.signal, flight.faults.name});
}

void AqlQueue::stop(uint32_t error_code) {
  has_failed_ = true;
  if (!error_.reason) return;
  __atomic_fetch_or(error_.reason, int64_t{1} << (error_code - 1), __ATOMIC_ACQ_REL);
  services_.interrupts.raise(error_.event_id);
}

}  // namespace softgpu
