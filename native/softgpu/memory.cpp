#include "softgpu/memory.h"

#include <algorithm>
#include <mutex>

namespace softgpu {

namespace {

// The block of an ordered map that holds the address.
template <class Blocks>
const Block* holding(const Blocks& blocks, uintptr_t address) {
  auto after = blocks.upper_bound(address);
  if (after == blocks.begin()) return nullptr;
  --after;
  return address - after->first < after->second.bytes ? &after->second : nullptr;
}

}  // namespace

void Memory::add(const Block& block) {
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  blocks_[block.gpu_address] = block;
  aliases_.erase(block.gpu_address);
  if (block.gpu_address == block.host_address) return;
  aliases_[block.gpu_address] = block;
  const uintptr_t first = std::min(aliases_first_.load(std::memory_order_relaxed), block.gpu_address);
  const uintptr_t end = std::max(aliases_end_.load(std::memory_order_relaxed), block.gpu_address + block.bytes);
  aliases_first_.store(first, std::memory_order_release);
  aliases_end_.store(end, std::memory_order_release);
}

void Memory::remove(uintptr_t gpu_address) {
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  const auto found = blocks_.find(gpu_address);
  if (found == blocks_.end()) return;
  if (found->second.is_executable) code_generation_.fetch_add(1, std::memory_order_acq_rel);
  blocks_.erase(found);
  aliases_.erase(gpu_address);
}

std::optional<Block> Memory::find(uintptr_t gpu_address) const {
  const std::shared_lock<std::shared_mutex> guard(mutex_);
  const Block* block = holding(blocks_, gpu_address);
  return block ? std::optional<Block>(*block) : std::nullopt;
}

uintptr_t Memory::translate_alias(uintptr_t gpu_address) const {
  const std::shared_lock<std::shared_mutex> guard(mutex_);
  const Block* block = holding(aliases_, gpu_address);
  return block ? gpu_address - block->gpu_address + block->host_address : gpu_address;
}

}  // namespace softgpu
