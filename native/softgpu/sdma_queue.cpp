#include "softgpu/sdma_queue.h"

#include <algorithm>
#include <cstdio>
#include <cstring>

#include "softgpu/packets.h"

namespace softgpu {

namespace {

enum class Operation : uint32_t {
  nop = 0,
  copy = 1,
  fence = 5,
  trap = 6,
  poll = 8,
  atomic = 10,
  constant_fill = 11,
  timestamp = 13,
  cache_control = 17,
};

constexpr uint32_t linear_copy = 0;
constexpr uint32_t window_copy = 4;
constexpr uint64_t signal_value_offset = offsetof(Signal, value);
constexpr int packets_per_turn = 64;

uint32_t bits(uint32_t word, unsigned low, unsigned count) { return word >> low & ((1U << count) - 1); }

uint64_t wide(const uint32_t* low_word) { return uint64_t{low_word[1]} << 32 | low_word[0]; }

bool compares(uint32_t function, uint32_t value, uint32_t reference) {
  switch (function) {
    case 1: return value < reference;
    case 2: return value <= reference;
    case 3: return value == reference;
    case 4: return value != reference;
    case 5: return value >= reference;
    case 6: return value > reference;
    default: return true;
  }
}

// One side of a window copy: its base and how elements are laid out.
struct WindowSide {
  char* base;
  uint64_t x, y, z, row_pitch, slice_pitch;

  char* row(uint64_t row_index, uint64_t slice_index, uint32_t element_shift) const {
    return base + (((z + slice_index) * slice_pitch + (y + row_index) * row_pitch + x) << element_shift);
  }
};

WindowSide window_side(char* base, const uint32_t* words) {
  return {base,
          bits(words[0], 0, 14),
          bits(words[0], 16, 14),
          bits(words[1], 0, 11),
          uint64_t{words[1] >> 13} + 1,
          uint64_t{bits(words[2], 0, 28)} + 1};
}

}  // namespace

SdmaQueue::SdmaQueue(uint64_t id, const QueueServices& services, const QueueMemory& memory) : Queue(id, services, memory) {}

template <class Value>
Value* SdmaQueue::pointer(const uint32_t* low_word) const {
  return reinterpret_cast<Value*>(services_.memory.translate(static_cast<uintptr_t>(wide(low_word))));
}

uint64_t SdmaQueue::start_ns() const { return std::max(visible_at_ns_, free_at_ns_); }

Progress SdmaQueue::advance() {
  Progress progress;
  if (has_failed_ || is_suspended()) return progress;
  for (int executed = 0; executed < packets_per_turn; ++executed) {
    if (read_ >= visible_) {
      visible_ = __atomic_load_n(memory_.write_index, __ATOMIC_ACQUIRE);
      if (read_ >= visible_) return progress;
      visible_at_ns_ = services_.clock.now_ns();
    }
    const char* place = memory_.ring + (read_ & (memory_.ring_bytes - 1));
    const Outcome outcome = execute(reinterpret_cast<const uint32_t*>(place));
    switch (outcome.state) {
      case Outcome::State::done: break;
      case Outcome::State::waits_for_memory: progress.is_blocked = true; return progress;
      case Outcome::State::waits_for_end: progress.next_ns = free_at_ns_; return progress;
      case Outcome::State::unknown:
        has_failed_ = true;
        std::fprintf(stderr, "wavescope softgpu: unknown SDMA packet %#x\n", *reinterpret_cast<const uint32_t*>(place));
        return progress;
    }
    progress.has_moved = true;
    unmet_ns_ = 0;
    read_ += uint64_t{outcome.words} * sizeof(uint32_t);
    __atomic_store_n(memory_.read_index, read_, __ATOMIC_RELEASE);
  }
  return progress;
}

SdmaQueue::Outcome SdmaQueue::execute(const uint32_t* words) {
  switch (static_cast<Operation>(words[0] & 0xff)) {
    case Operation::nop: return {Outcome::State::done, 1 + bits(words[0], 16, 14)};
    case Operation::copy: return copy(words);
    case Operation::constant_fill: return fill(words);
    case Operation::poll: return poll(words);
    case Operation::timestamp: return stamp(words);
    case Operation::atomic: return add_to_memory(words);
    case Operation::fence: return fence(words);
    case Operation::trap:
      if (!has_ended()) return {Outcome::State::waits_for_end};
      end_transfer(0);
      services_.interrupts.raise(bits(words[1], 0, 28));
      return {Outcome::State::done, 2};
    case Operation::cache_control: return {Outcome::State::done, 5};
  }
  return {Outcome::State::unknown};
}

SdmaQueue::Outcome SdmaQueue::copy(const uint32_t* words) {
  const uint32_t kind = bits(words[0], 8, 8);
  if (kind != linear_copy && kind != window_copy) return {Outcome::State::unknown};
  const uint64_t bytes = kind == linear_copy ? copy_linear(words) : copy_window(words);
  // Runtimes move the end's timestamp into the signal with a copy of its own.
  if (!transfer_.is_stamped || bytes > sizeof(uint64_t)) add_to_transfer("copy", bytes);
  return {Outcome::State::done, kind == linear_copy ? 7U : 13U};
}

uint64_t SdmaQueue::copy_linear(const uint32_t* words) {
  const uint64_t bytes = uint64_t{bits(words[1], 0, 30)} + 1;
  std::memmove(pointer<char>(words + 5), pointer<char>(words + 3), bytes);
  return bytes;
}

uint64_t SdmaQueue::copy_window(const uint32_t* words) {
  const uint32_t element_shift = words[0] >> 29;
  const WindowSide source = window_side(pointer<char>(words + 1), words + 3);
  const WindowSide target = window_side(pointer<char>(words + 6), words + 8);
  const uint64_t width = uint64_t{bits(words[11], 0, 14)} + 1;
  const uint64_t height = uint64_t{bits(words[11], 16, 14)} + 1;
  const uint64_t depth = uint64_t{bits(words[12], 0, 11)} + 1;
  for (uint64_t slice = 0; slice < depth; ++slice) {
    for (uint64_t row = 0; row < height; ++row) {
      std::memmove(target.row(row, slice, element_shift), source.row(row, slice, element_shift), width << element_shift);
    }
  }
  return width * height * depth << element_shift;
}

SdmaQueue::Outcome SdmaQueue::fill(const uint32_t* words) {
  const uint64_t bytes = uint64_t{bits(words[4], 0, 30)} + 1;
  std::fill_n(pointer<uint32_t>(words + 1), bytes / sizeof(uint32_t), words[3]);
  add_to_transfer("fill", bytes);
  return {Outcome::State::done, 5};
}

SdmaQueue::Outcome SdmaQueue::poll(const uint32_t* words) {
  constexpr uint32_t size = 6;
  const bool is_of_memory = words[0] >> 31;
  if (!is_of_memory) return {Outcome::State::done, size};
  const uint64_t checked_ns = services_.clock.now_ns();
  const uint32_t value = __atomic_load_n(pointer<uint32_t>(words + 1), __ATOMIC_ACQUIRE) & words[4];
  if (!compares(bits(words[0], 28, 3), value, words[3])) {
    unmet_ns_ = checked_ns;
    return {Outcome::State::waits_for_memory};
  }
  if (unmet_ns_) {
    // Halves of a signal's value are polled one by one.
    const uint64_t signal = (wide(words + 1) & ~uint64_t{7}) - signal_value_offset;
    const uint64_t met_ns = services_.signal_ends.met_ns(signal, unmet_ns_, services_.clock.now_ns());
    free_at_ns_ = std::max(start_ns(), met_ns);
  }
  return {Outcome::State::done, size};
}

SdmaQueue::Outcome SdmaQueue::stamp(const uint32_t* words) {
  free_at_ns_ = start_ns();
  __atomic_store_n(pointer<uint64_t>(words + 1), services_.gpu_clock.ticks(free_at_ns_), __ATOMIC_RELEASE);
  transfer_.is_stamped = transfer_.kind != nullptr;
  return {Outcome::State::done, 3};
}

SdmaQueue::Outcome SdmaQueue::add_to_memory(const uint32_t* words) {
  if (!has_ended()) return {Outcome::State::waits_for_end};
  const uint64_t signal = wide(words + 1) - signal_value_offset;
  end_transfer(signal);
  services_.signal_ends.record(signal, start_ns(), services_.clock.now_ns());
  __atomic_fetch_add(pointer<uint64_t>(words + 1), wide(words + 3), __ATOMIC_ACQ_REL);
  return {Outcome::State::done, 8};
}

SdmaQueue::Outcome SdmaQueue::fence(const uint32_t* words) {
  if (!has_ended()) return {Outcome::State::waits_for_end};
  end_transfer(0);
  __atomic_store_n(pointer<uint32_t>(words + 1), words[3], __ATOMIC_RELEASE);
  return {Outcome::State::done, 4};
}

void SdmaQueue::add_to_transfer(const char* kind, uint64_t bytes) {
  if (transfer_.is_stamped) end_transfer(0);
  const Pacing& pacing = services_.pacing;
  const uint64_t start = start_ns();
  if (!transfer_.kind) transfer_ = {kind, read_, start, start + pacing.copy_latency_ns, 0, false};
  const uint64_t begin = std::max(start, transfer_.end_ns);
  transfer_.bytes += bytes;
  transfer_.end_ns = begin + bytes / pacing.copy_bytes_per_ns;
  free_at_ns_ = transfer_.end_ns;
}

void SdmaQueue::end_transfer(uint64_t signal) {
  if (transfer_.kind && services_.truth.is_wanted()) {
    services_.truth.add({services_.gpu_index, id_, transfer_.packet, transfer_.kind, "", transfer_.start_ns,
                         transfer_.end_ns, services_.clock.now_ns(), transfer_.bytes, signal, ""});
  }
  transfer_ = {};
}

}  // namespace softgpu
