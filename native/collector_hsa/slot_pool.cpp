#include "collector_hsa/slot_pool.h"

#include <cstdlib>
#include <cstring>

namespace wavescope {

SlotBlock* SlotPool::take() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (spare_.empty()) {
    SlotBlock* block = make();
    if (block != nullptr) prepare(block);
    return block;
  }
  SlotBlock* block = spare_.back();
  spare_.pop_back();
  return block;
}

void SlotPool::give_back(SlotBlock* block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  prepare(block);
  spare_.push_back(block);
}

void SlotPool::keep_spare(std::size_t count) {
  for (;;) {
    const std::lock_guard<std::mutex> lock(mutex_);
    if (spare_.size() >= count) return;
    SlotBlock* block = make();
    if (block == nullptr) return;
    prepare(block);
    spare_.push_back(block);
  }
}

SlotBlock* SlotPool::make() {
  if (made_ == kMostBlocks) return nullptr;
  void* memory = std::aligned_alloc(alignof(SlotBlock), sizeof(SlotBlock));
  if (memory == nullptr) return nullptr;
  auto* block = new (memory) SlotBlock{};
  for (amd_signal_t*& own : block->own) {
    hsa_signal_t signal{};
    // Without consumers and for the GPU only: no event, so completion raises no interrupt.
    if (api_.signal_create(1, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &signal) != HSA_STATUS_SUCCESS) {
      for (amd_signal_t** made = block->own; made != &own; ++made) {
        api_.signal_destroy(hsa_signal_t{reinterpret_cast<uint64_t>(*made)});
      }
      std::free(memory);
      return nullptr;
    }
    own = reinterpret_cast<amd_signal_t*>(signal.handle);
    clear_ticks(own);
  }
  block->index = made_;
  blocks_[made_++].store(block, std::memory_order_release);
  return block;
}

void SlotPool::prepare(SlotBlock* block) {
  block->generation = ++last_generation_;
  block->first_open = 0;
  block->next.store(nullptr, std::memory_order_relaxed);
  std::memset(block->done, 0, sizeof block->done);
  std::memset(block->overdue, 0, sizeof block->overdue);
  block->head.store(0, std::memory_order_release);
}

void SlotPool::destroy_signals() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t index = 0; index < made_; ++index) {
    for (const amd_signal_t* own : blocks_[index].load()->own) {
      api_.signal_destroy(hsa_signal_t{reinterpret_cast<uint64_t>(own)});
    }
  }
  made_ = kMostBlocks;
  spare_.clear();
}

}  // namespace wavescope
