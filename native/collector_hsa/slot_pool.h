// Blocks of slots with their signals, made ahead of need and used again. Blocks are never freed while the runtime lives,
// so a stale reference to one is harmless; their number is bounded.
#ifndef WAVESCOPE_COLLECTOR_HSA_SLOT_POOL_H
#define WAVESCOPE_COLLECTOR_HSA_SLOT_POOL_H

#include <atomic>
#include <cstdint>
#include <mutex>
#include <vector>

#include "collector_hsa/agents.h"
#include "collector_hsa/hsa_api.h"
#include "collector_hsa/pending_file.h"
#include "collector_hsa/slot_block.h"

namespace wavescope {

class SlotPool {
 public:
  static constexpr uint32_t kMostBlocks = PendingFile::kMostBlocks;  // half a million dispatches in flight, about 100 MB

  SlotPool(const HsaApi& api, Agents& agents, PendingFile& file) : api_(api), agents_(agents), file_(file) {
    spare_.reserve(kMostBlocks);
  }

  // An empty block, or null when all are in use and no more may be made.
  SlotBlock* take();
  void give_back(SlotBlock* block);

  // Makes blocks until `count` are spare, as far as allowed. What the system refuses is not asked for again at once.
  void keep_spare(std::size_t count);

  // Before the first queue of a GPU: tries whether it completes signals that we keep; false when it does not, after which
  // all signals are the runtime's.
  bool try_kept_signals(hsa_agent_t gpu);

  // By its index; null for one that was never made.
  SlotBlock* at(uint32_t index) const {
    return index < kMostBlocks ? blocks_[index].load(std::memory_order_acquire) : nullptr;
  }

  // Some slot of the block is in place, in this use of it.
  void note_in_place(const SlotBlock* block) {
    in_place_[block->index / 64].fetch_or(uint64_t{1} << block->index % 64, std::memory_order_relaxed);
  }
  // Calls `look` with each block of which that was noted.
  template <typename Look>
  void each_in_place(Look look) const {
    for (uint32_t word = 0; word < kMostBlocks / 64; ++word) {
      for (uint64_t noted = in_place_[word].load(std::memory_order_relaxed); noted != 0; noted &= noted - 1) {
        look(at(word * 64 + static_cast<uint32_t>(__builtin_ctzll(noted))));
      }
    }
  }

  // Before the runtime shuts down: gives it back its signals. The pool is of no use after this.
  void destroy_signals();

 private:
  SlotBlock* take_spare();
  SlotBlock* make();
  SlotBlock* make_unless_refused();
  bool keep_signals(SlotBlock* block);
  bool make_signals(SlotBlock* block);
  void prepare(SlotBlock* block);

  const HsaApi& api_;
  Agents& agents_;
  PendingFile& file_;
  std::mutex make_mutex_;  // held while the runtime makes signals or locks memory, which takes long; taken before the other
  std::mutex mutex_;  // spare_ and last_generation_
  std::vector<SlotBlock*> spare_;
  std::atomic<SlotBlock*> blocks_[kMostBlocks] = {};
  std::atomic<uint64_t> in_place_[kMostBlocks / 64] = {};  // a bit for each block
  bool may_keep_signals_ = true;
  uint32_t made_ = 0;
  uint64_t ask_again_ns_ = 0;  // this and the next: after the system refused a block
  uint64_t patience_ns_ = 0;
  uint64_t last_generation_ = 0;
};

}  // namespace wavescope

#endif
