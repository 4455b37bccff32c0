// The most bytes that a process may have in its files, shared by all its streams.
#ifndef WAVESCOPE_CORE_BYTE_BUDGET_H
#define WAVESCOPE_CORE_BYTE_BUDGET_H

#include <algorithm>
#include <atomic>
#include <cstdint>

#include "core/environment.h"

namespace wavescope {

class ByteBudget {
 public:
  explicit ByteBudget(uint64_t limit, Keep keep = Keep::kOldest) : limit_(limit), keep_(keep) {}

  // Whether `bytes` more may be written; they count as written then.
  bool take(uint64_t bytes) {
    if (used_.fetch_add(bytes, std::memory_order_relaxed) + bytes <= limit_) return true;
    give_back(bytes);
    return false;
  }
  // They were not written after all.
  void give_back(uint64_t bytes) { used_.fetch_sub(bytes, std::memory_order_relaxed); }

  // The same for what is never dropped. Where records make room for it, texts may have three eighths of the limit, and with
  // facts, which are worth more, one half. What is said at the end is little, and always has room.
  enum class Lasting { kText, kFact, kLastWord };
  bool take_lasting(uint64_t bytes, Lasting what) {
    if (what == Lasting::kLastWord) {
      take_anyway(bytes);
      return true;
    }
    if (keep_ == Keep::kOldest) return take(bytes);
    const uint64_t share = what == Lasting::kText ? limit_ / 8 * 3 : limit_ / 2;
    if (lasting_.fetch_add(bytes, std::memory_order_relaxed) + bytes > share) {
      lasting_.fetch_sub(bytes, std::memory_order_relaxed);
      return false;
    }
    take_anyway(bytes);
    return true;
  }
  void give_back_lasting(uint64_t bytes, Lasting what) {
    if (keep_ == Keep::kNewest && what != Lasting::kLastWord) lasting_.fetch_sub(bytes, std::memory_order_relaxed);
    give_back(bytes);
  }

  // More than there is, for a moment.
  void take_anyway(uint64_t bytes) { used_.fetch_add(bytes, std::memory_order_relaxed); }

  // What was written is gone again.
  void drop(uint64_t bytes) {
    dropped_.fetch_add(bytes, std::memory_order_relaxed);
    give_back(bytes);
  }

  Keep keep() const { return keep_; }
  uint64_t limit() const { return limit_; }
  uint64_t used() const { return used_.load(std::memory_order_relaxed); }
  uint64_t written() const { return used() + dropped_.load(std::memory_order_relaxed); }

  // By how much a file grows ahead of what it holds: that is beside the limit, so it is little of it.
  uint64_t step(uint64_t usual, uint64_t least) const {
    return keep_ == Keep::kOldest ? usual : std::min(usual, std::max(least, limit_ / 64));
  }

 private:
  const uint64_t limit_;
  const Keep keep_;
  std::atomic<uint64_t> used_{0};
  std::atomic<uint64_t> lasting_{0};
  std::atomic<uint64_t> dropped_{0};
};

}  // namespace wavescope

#endif
