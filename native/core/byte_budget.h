// The most bytes that a process may write, shared by all its streams.
#ifndef WAVESCOPE_CORE_BYTE_BUDGET_H
#define WAVESCOPE_CORE_BYTE_BUDGET_H

#include <atomic>
#include <cstdint>

namespace wavescope {

class ByteBudget {
 public:
  explicit ByteBudget(uint64_t limit) : limit_(limit) {}

  // Whether `bytes` more may be written; they count as written then.
  bool take(uint64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    give_back(bytes);
    return false;
  }
  // They were not written after all.
  void give_back(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }

 private:
  const uint64_t limit_;
  std::atomic<uint64_t> used_{0};
};

}  // namespace wavescope

#endif
