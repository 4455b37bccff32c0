#include "collector_hsa/slot_pool.h"

#include <sys/mman.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>

#include "collector_hsa/signal_probe.h"
#include "core/clock.h"

namespace wavescope {
namespace {

// Each try costs the program time.
constexpr uint64_t kShortestPatienceNs = 10000000;
constexpr uint64_t kLongestPatienceNs = 10000000000;
constexpr std::size_t kSignalsBytes = std::size_t{1} << 20;  // what the runtime may take for those of a block

// Some runtimes say on the program's standard error that there is no memory: they are not asked in vain.
bool is_memory_left() {
  void* memory = mmap(nullptr, kSignalsBytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) return false;
  munmap(memory, kSignalsBytes);
  return true;
}

}  // namespace

SlotBlock* SlotPool::take_spare() {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (spare_.empty()) return nullptr;
  SlotBlock* block = spare_.back();
  spare_.pop_back();
  return block;
}

SlotBlock* SlotPool::take() {
  for (int attempt = 0; attempt < 4; ++attempt) {  // another queue may take the block that was just made
    if (SlotBlock* block = take_spare()) return block;
    keep_spare(1);
  }
  return take_spare();
}

void SlotPool::give_back(SlotBlock* block) {
  const std::lock_guard<std::mutex> lock(mutex_);
  prepare(block);
  spare_.push_back(block);
}

void SlotPool::keep_spare(std::size_t count) {
  const auto has_enough = [&] {
    const std::lock_guard<std::mutex> lock(mutex_);
    return spare_.size() >= count;
  };
  if (has_enough()) return;
  const std::lock_guard<std::mutex> lock(make_mutex_);
  while (!has_enough()) {
    SlotBlock* block = make_unless_refused();
    if (block == nullptr) return;
    give_back(block);
  }
}

bool SlotPool::try_kept_signals(hsa_agent_t gpu) {
  const std::lock_guard<std::mutex> making(make_mutex_);
  SlotBlock* block = may_keep_signals_ ? make() : nullptr;
  if (block == nullptr) return true;
  if (!block->keeps_signals || completes_signal(api_, gpu, block->handle[0], block->own[0])) {
    clear_ticks(block->own[0]);
    __atomic_store_n(&block->own[0]->value, int64_t{1}, __ATOMIC_RELEASE);
    give_back(block);
    return true;
  }
  may_keep_signals_ = false;
  const std::lock_guard<std::mutex> lock(mutex_);
  const auto is_kept = [](const SlotBlock* spare) { return spare->keeps_signals; };
  spare_.erase(std::remove_if(spare_.begin(), spare_.end(), is_kept), spare_.end());
  return false;
}

SlotBlock* SlotPool::make_unless_refused() {
  if (made_ == kMostBlocks || boottime_ns() < ask_again_ns_) return nullptr;
  SlotBlock* block = make();
  patience_ns_ = block != nullptr ? 0 : std::clamp(2 * patience_ns_, kShortestPatienceNs, kLongestPatienceNs);
  ask_again_ns_ = boottime_ns() + patience_ns_;
  return block;
}

SlotBlock* SlotPool::make() {
  if (made_ == kMostBlocks || !agents_.driver().is_there()) return nullptr;
  void* memory = std::aligned_alloc(alignof(SlotBlock), sizeof(SlotBlock));
  if (memory == nullptr) return nullptr;
  auto* block = new (memory) SlotBlock{};
  if (!keep_signals(block) && !make_signals(block)) {
    std::free(memory);
    return nullptr;
  }
  block->records = block->pending->records;
  block->index = made_;
  blocks_[made_++].store(block, std::memory_order_release);
  return block;
}

// Signals as the packet processor knows them, in memory that outlives the process; false when the GPUs cannot have it.
bool SlotPool::keep_signals(SlotBlock* block) {
  if (!may_keep_signals_ || api_.memory_lock == nullptr || api_.memory_unlock == nullptr) return false;
  block->pending = file_.take();
  if (block->pending == nullptr) return false;
  std::vector<hsa_agent_t> agents;
  for (const Gpu& gpu : agents_.gpus()) agents.push_back(gpu.agent);
  void* seen_by_gpus = nullptr;
  if (!agents_.driver().is_there() ||  // looked for once more: the file took its time, and the program may close everything
      api_.memory_lock(block->pending->signals, sizeof block->pending->signals, agents.data(),
                       static_cast<int>(agents.size()), &seen_by_gpus) != HSA_STATUS_SUCCESS) {
    return false;
  }
  auto* signals = reinterpret_cast<amd_signal_t*>(block->pending->signals);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    signals[slot].kind = AMD_SIGNAL_KIND_USER;
    signals[slot].value = 1;
    block->own[slot] = &signals[slot];
    block->handle[slot] = reinterpret_cast<uint64_t>(seen_by_gpus) + slot * sizeof(amd_signal_t);
  }
  block->keeps_signals = true;
  return true;
}

bool SlotPool::make_signals(SlotBlock* block) {
  if (!is_memory_left()) return false;
  block->pending = static_cast<WavescopePendingBlock*>(std::aligned_alloc(64, sizeof(WavescopePendingBlock)));
  if (block->pending == nullptr) return false;
  std::memset(static_cast<void*>(block->pending), 0, sizeof *block->pending);
  for (uint32_t slot = 0; slot < kSlots; ++slot) {
    hsa_signal_t signal{};
    // Without consumers and for the GPU only: no event, so completion raises no interrupt.
    if (!agents_.driver().is_there() ||
        api_.signal_create(1, 0, nullptr, HSA_AMD_SIGNAL_AMD_GPU_ONLY, &signal) != HSA_STATUS_SUCCESS) {
      for (uint32_t made = 0; made < slot; ++made) api_.signal_destroy(hsa_signal_t{block->handle[made]});
      std::free(block->pending);
      return false;
    }
    block->handle[slot] = signal.handle;
    block->own[slot] = reinterpret_cast<amd_signal_t*>(signal.handle);
    clear_ticks(block->own[slot]);
  }
  return true;
}

void SlotPool::prepare(SlotBlock* block) {
  block->set_head(0);  // first: what follows is about slots that are no longer in use
  block->generation = ++last_generation_;
  block->first_open = 0;
  block->has_in_place = false;
  in_place_[block->index / 64].fetch_and(~(uint64_t{1} << block->index % 64), std::memory_order_relaxed);
  block->next.store(nullptr, std::memory_order_relaxed);
  std::memset(block->done, 0, sizeof block->done);
  std::memset(block->overdue, 0, sizeof block->overdue);
  std::memset(block->pending->places, 0, sizeof block->pending->places);
}

void SlotPool::destroy_signals() {
  const std::lock_guard<std::mutex> making(make_mutex_);
  const std::lock_guard<std::mutex> lock(mutex_);
  for (uint32_t index = 0; index < made_; ++index) {
    SlotBlock* block = blocks_[index].load();
    if (block->keeps_signals) {
      api_.memory_unlock(block->pending->signals);
      continue;
    }
    for (const uint64_t handle : block->handle) api_.signal_destroy(hsa_signal_t{handle});
  }
  file_.take_back_all();
  made_ = kMostBlocks;
  spare_.clear();
}

}  // namespace wavescope
