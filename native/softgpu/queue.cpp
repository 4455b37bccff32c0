#include "softgpu/queue.h"

namespace softgpu {

void SignalEnds::record(uint64_t signal, uint64_t end_ns, uint64_t completed_ns) {
  Entry& entry = entries_[slot(signal)];
  entry.signal.store(0, std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_release);
  entry.end_ns.store(end_ns, std::memory_order_relaxed);
  entry.completed_ns.store(completed_ns, std::memory_order_relaxed);
  entry.signal.store(signal, std::memory_order_release);
}

uint64_t SignalEnds::met_ns(uint64_t signal, uint64_t unmet_ns, uint64_t now_ns) const {
  const Entry& entry = entries_[slot(signal)];
  if (entry.signal.load(std::memory_order_acquire) != signal) return now_ns;
  const uint64_t end_ns = entry.end_ns.load(std::memory_order_relaxed);
  const uint64_t completed_ns = entry.completed_ns.load(std::memory_order_relaxed);
  std::atomic_thread_fence(std::memory_order_acquire);
  const bool is_whole = entry.signal.load(std::memory_order_relaxed) == signal;
  // An older completion of the same signal is not what was waited for.
  return is_whole && completed_ns >= unmet_ns && end_ns <= now_ns ? end_ns : now_ns;
}

}  // namespace softgpu
