#include "softgpu/memory.h"

#include <sys/mman.h>

#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <utility>

namespace softgpu {

namespace {

constexpr size_t page_bytes = 4096;
constexpr size_t large_page_bytes = size_t{2} << 20;

size_t rounded_up(size_t bytes, size_t unit) { return (bytes + unit - 1) & ~(unit - 1); }

// The entry of an ordered map whose range holds the address.
template <class Map>
auto holding(Map& map, uintptr_t address) -> decltype(&map.begin()->second) {
  auto after = map.upper_bound(address);
  if (after == map.begin()) return nullptr;
  --after;
  return address - after->first < after->second.bytes ? &after->second : nullptr;
}

}  // namespace

void* new_pages(size_t bytes, bool is_executable) {
  const size_t alignment = bytes >= large_page_bytes ? large_page_bytes : page_bytes;
  if (bytes > SIZE_MAX / 2) return nullptr;
  const int access = PROT_READ | PROT_WRITE | (is_executable ? PROT_EXEC : 0);
  void* mapped = mmap(nullptr, bytes + alignment, access, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (mapped == MAP_FAILED) return nullptr;
  const auto first = reinterpret_cast<uintptr_t>(mapped);
  const uintptr_t aligned = rounded_up(first, alignment);
  const uintptr_t end = aligned + rounded_up(bytes, page_bytes);
  if (aligned > first) munmap(mapped, aligned - first);
  const uintptr_t mapped_end = first + rounded_up(bytes + alignment, page_bytes);
  if (mapped_end > end) munmap(reinterpret_cast<void*>(end), mapped_end - end);
  return reinterpret_cast<void*>(aligned);
}

Memory::Memory() {
  void* range = mmap(nullptr, alias_bytes, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  // Without the range (a limited address space) aliases are invented beyond what the host can map.
  alias_base_ = range == MAP_FAILED ? uintptr_t{1} << 50 : reinterpret_cast<uintptr_t>(range);
  next_alias_ = alias_base_;
}

Memory::~Memory() {
  if (alias_base_ != uintptr_t{1} << 50) munmap(reinterpret_cast<void*>(alias_base_), alias_bytes);
  for (const auto& [address, block] : owned_) munmap(reinterpret_cast<void*>(address), block.bytes);
}

void* Memory::allocate(uint32_t node, size_t bytes, uint32_t flags, bool is_executable,
                       bool is_reservation, size_t limit_bytes) {
  const size_t rounded = rounded_up(bytes, page_bytes);
  if (rounded < bytes || rounded == 0) return nullptr;
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  size_t& used = used_bytes_[node];
  if (!is_reservation && (rounded > limit_bytes || used > limit_bytes - rounded)) return nullptr;
  void* pages = new_pages(rounded, is_executable);
  if (!pages) return nullptr;
  Block block;
  block.host_address = block.gpu_address = reinterpret_cast<uintptr_t>(pages);
  block.bytes = rounded;
  block.node = node;
  block.flags = flags;
  block.is_executable = is_executable;
  block.is_reservation = is_reservation;
  if (!is_reservation) used += rounded;
  owned_.emplace(block.host_address, std::move(block));
  return pages;
}

bool Memory::release(void* address) {
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  const auto found = owned_.find(reinterpret_cast<uintptr_t>(address));
  if (found == owned_.end()) return false;
  const Block& block = found->second;
  if (block.is_executable) code_generation_.fetch_add(1, std::memory_order_acq_rel);
  if (!block.is_reservation) used_bytes_[block.node] -= block.bytes;
  munmap(address, block.bytes);
  owned_.erase(found);
  return true;
}

bool Memory::register_host(void* address, size_t bytes, uint32_t flags) {
  const auto host = reinterpret_cast<uintptr_t>(address);
  if (bytes == 0 || bytes > alias_bytes / 2) return false;
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  if (holding(owned_, host)) return true;
  Block& block = registered_[host];
  ++block.registrations;
  if (bytes <= block.bytes) return true;
  if (block.bytes) alias_to_host_.erase(block.gpu_address);
  block.host_address = host;
  block.gpu_address = new_alias(host, bytes);
  block.bytes = bytes;
  block.flags = flags;
  block.node = 1;  // the alias belongs to a GPU's address range
  block.is_registered = true;
  alias_to_host_[block.gpu_address] = host;
  return true;
}

bool Memory::deregister_host(void* address) {
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  const auto host = reinterpret_cast<uintptr_t>(address);
  const auto found = registered_.find(host);
  if (found == registered_.end()) return find_locked(host) != nullptr;
  if (--found->second.registrations == 0) {
    alias_to_host_.erase(found->second.gpu_address);
    registered_.erase(found);
  }
  return true;
}

std::optional<uintptr_t> Memory::map(const void* address, std::vector<uint32_t> nodes) {
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  const auto at = reinterpret_cast<uintptr_t>(address);
  auto* block = const_cast<Block*>(find_locked(at));
  if (!block) return std::nullopt;
  block->mapped_nodes = std::move(nodes);
  const bool is_host_address = at - block->host_address < block->bytes;
  return is_host_address ? block->gpu_address + (at - block->host_address) : at;
}

void Memory::unmap(const void* address) {
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  if (auto* block = const_cast<Block*>(find_locked(reinterpret_cast<uintptr_t>(address)))) {
    block->mapped_nodes.clear();
  }
}

std::optional<Block> Memory::find(const void* address) const {
  const std::shared_lock<std::shared_mutex> guard(mutex_);
  const Block* block = find_locked(reinterpret_cast<uintptr_t>(address));
  return block ? std::optional<Block>(*block) : std::nullopt;
}

const std::vector<uint32_t>* Memory::mapped_nodes(const void* address) const {
  const std::shared_lock<std::shared_mutex> guard(mutex_);
  const Block* block = find_locked(reinterpret_cast<uintptr_t>(address));
  return block ? &block->mapped_nodes : nullptr;
}

bool Memory::set_user_data(const void* address, void* data) {
  const std::unique_lock<std::shared_mutex> guard(mutex_);
  auto* block = const_cast<Block*>(find_locked(reinterpret_cast<uintptr_t>(address)));
  if (block) block->user_data = data;
  return block != nullptr;
}

uintptr_t Memory::translate_alias(uintptr_t gpu_address) const {
  {
    const std::shared_lock<std::shared_mutex> guard(mutex_);
    if (const Block* block = find_locked(gpu_address)) {
      return gpu_address - block->gpu_address + block->host_address;
    }
  }
  std::fprintf(stderr, "wavescope softgpu: a GPU accessed the unmapped address %#zx\n", gpu_address);
  std::abort();
}

uintptr_t Memory::new_alias(uintptr_t host_address, size_t bytes) {
  const size_t offset = host_address % page_bytes;
  const size_t span = rounded_up(bytes + offset, page_bytes);
  // After a tebibyte of registrations the range starts again: its first blocks are long gone.
  if (next_alias_ + span > alias_base_ + alias_bytes) next_alias_ = alias_base_;
  const uintptr_t alias = next_alias_ + offset;
  next_alias_ += span;
  return alias;
}

const Block* Memory::find_locked(uintptr_t address) const {
  if (const Block* block = holding(owned_, address)) return block;
  if (const Block* block = holding(registered_, address)) return block;
  auto after = alias_to_host_.upper_bound(address);
  if (after == alias_to_host_.begin()) return nullptr;
  --after;
  const Block& block = registered_.at(after->second);
  return address - block.gpu_address < block.bytes ? &block : nullptr;
}

}  // namespace softgpu
