// The memory that CUPTI fills with records: buffers that are there and zeroed before they are asked for.
//
// CUPTI asks on the program's threads, so handing one out is a search among a few words; making, touching and zeroing them
// is the worker's. There is a limit: over it CUPTI gets none and counts what it drops.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_BUFFER_POOL_H
#define WAVESCOPE_COLLECTOR_CUPTI_BUFFER_POOL_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

namespace wavescope::cupti {

class BufferPool {
 public:
  BufferPool(std::size_t buffer_bytes, uint32_t most_buffers);
  ~BufferPool();
  BufferPool(const BufferPool&) = delete;
  BufferPool& operator=(const BufferPool&) = delete;

  // A zeroed buffer, or null when all are in use. Any thread.
  uint8_t* take();

  // Whether it is a buffer of this pool. Any thread.
  bool owns(const uint8_t* buffer) const;

  // Of a buffer that CUPTI is done with; it wrote no further than `used_bytes`. Any thread.
  void give_back(uint8_t* buffer, std::size_t used_bytes);

  // Zeroes what came back, and makes buffers until `spare` are ready or the limit is reached. The worker only.
  void refill(uint32_t spare);

  std::size_t buffer_bytes() const { return buffer_bytes_; }
  uint32_t ready() const;
  uint32_t made() const { return made_.load(std::memory_order_relaxed); }
  // Times that there was none to hand out.
  uint64_t refused() const { return refused_.load(std::memory_order_relaxed); }

 private:
  enum class State : uint32_t { kAbsent, kMaking, kReady, kInUse, kUsed };

  struct Slot {
    std::atomic<State> state{State::kAbsent};
    std::atomic<uint8_t*> memory{nullptr};
    std::size_t used_bytes = 0;  // of a used one
  };

  // Maps memory for an absent slot; false when the system has none.
  bool make(Slot& slot, bool touched, State then);

  const std::size_t buffer_bytes_;
  const uint32_t most_buffers_;
  const std::unique_ptr<Slot[]> slots_;
  std::atomic<uint32_t> made_{0};
  std::atomic<uint64_t> refused_{0};
};

}  // namespace wavescope::cupti

#endif
