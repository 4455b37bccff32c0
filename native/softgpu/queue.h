// What all kinds of queues share: they are advanced by their GPU's scheduler and never block it.
//
// A queue lives on the GPU's time line, not on the scheduler's: an op starts when its packet was seen or when its
// predecessor ended, whichever is later, and ends a nominal time after that. The scheduler only takes care that
// nobody can observe an end before it has come. When the host deschedules it, it catches up and no timestamp shows it.
#ifndef WAVESCOPE_SOFTGPU_QUEUE_H
#define WAVESCOPE_SOFTGPU_QUEUE_H

#include <array>
#include <atomic>
#include <cstdint>

#include "softgpu/clock.h"
#include "softgpu/configuration.h"
#include "softgpu/events.h"
#include "softgpu/kernels.h"
#include "softgpu/memory.h"
#include "softgpu/truth.h"

namespace softgpu {

// When signals were completed, so that a queue that waits for another's op goes on when that op ended and not when
// a scheduler noticed. Shared by all GPUs, overwritten when full.
class SignalEnds {
 public:
  void record(uint64_t signal, uint64_t end_ns, uint64_t completed_ns);
  // When a condition on the signal that did not hold at `unmet_ns` came to hold; `now_ns` when it is not known.
  uint64_t met_ns(uint64_t signal, uint64_t unmet_ns, uint64_t now_ns) const;

 private:
  struct Entry {
    std::atomic<uint64_t> signal{0}, end_ns{0}, completed_ns{0};
  };
  static size_t slot(uint64_t signal) { return (signal >> 6) * 0x9e3779b97f4a7c15U >> 54; }
  std::array<Entry, 1024> entries_;
};

// An interrupt that is to reach the host later.
class LateInterrupts {
 public:
  virtual ~LateInterrupts() = default;
  virtual void raise_at(uint64_t due_ns, uint32_t event_id) = 0;
  virtual uint32_t busy_queues(uint64_t at_ns) const = 0;
};

// What a queue needs of its GPU.
struct QueueServices {
  uint32_t gpu_index;
  const Pacing& pacing;
  const Clock& clock;
  const GpuClock& gpu_clock;
  const Memory& memory;
  Interrupts& interrupts;
  KernelTable& kernels;
  TruthBuffer& truth;
  SignalEnds& signal_ends;
  LateInterrupts& late;
};

// Ring and indices of a queue, shared with its producers.
struct QueueMemory {
  char* ring;
  uint64_t ring_bytes;  // a power of two
  uint64_t* read_index;
  const uint64_t* write_index;
  const uint64_t* doorbell;
};

struct Progress {
  bool has_moved = false;   // took or completed something
  bool is_blocked = false;  // waits for memory that others write
  uint64_t next_ns = never_ns;
};

class Queue {
 public:
  Queue(uint64_t id, const QueueServices& services, const QueueMemory& memory)
      : id_(id), services_(services), memory_(memory) {}
  virtual ~Queue() = default;
  Queue(const Queue&) = delete;
  Queue& operator=(const Queue&) = delete;

  // Does what can be done now.
  virtual Progress advance() = 0;

  uint64_t id() const { return id_; }
  uint64_t free_at_ns() const { return free_at_ns_; }
  void suspend(bool is_suspended) { is_suspended_.store(is_suspended, std::memory_order_relaxed); }

 protected:
  bool is_suspended() const { return is_suspended_.load(std::memory_order_relaxed); }

  uint64_t id_;
  QueueServices services_;
  QueueMemory memory_;
  uint64_t free_at_ns_ = 0;     // end of the last op that was taken
  uint64_t visible_at_ns_ = 0;  // when the packets at hand were seen

 private:
  std::atomic<bool> is_suspended_{false};
};

}  // namespace softgpu

#endif
