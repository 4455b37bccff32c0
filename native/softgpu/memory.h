// The memory of the machine as GPUs see it: blocks, where they are mapped, and what their addresses mean.
#ifndef WAVESCOPE_SOFTGPU_MEMORY_H
#define WAVESCOPE_SOFTGPU_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>
#include <vector>

namespace softgpu {

struct Block {
  uintptr_t host_address = 0;
  uintptr_t gpu_address = 0;  // equal to the host's, except for registered host memory
  size_t bytes = 0;
  uint32_t node = 0;
  uint32_t flags = 0;  // as the front end was given them
  bool is_registered = false;
  bool is_executable = false;
  bool is_reservation = false;  // address range that takes no memory of the node
  uint32_t registrations = 0;
  void* user_data = nullptr;
  std::vector<uint32_t> mapped_nodes;
};

class Memory {
 public:
  Memory();
  ~Memory();
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // Blocks of at most `limit_bytes` per node; nullptr when there is no room.
  void* allocate(uint32_t node, size_t bytes, uint32_t flags, bool is_executable, bool is_reservation,
                 size_t limit_bytes);
  bool release(void* address);

  bool register_host(void* address, size_t bytes, uint32_t flags);
  bool deregister_host(void* address);

  // The address under which the nodes see it, or nothing when it is in no block.
  std::optional<uintptr_t> map(const void* address, std::vector<uint32_t> nodes);
  void unmap(const void* address);

  // A copy of the block that holds a host or GPU address.
  std::optional<Block> find(const void* address) const;
  // The mapped nodes of that block, valid until it is mapped anew or released.
  const std::vector<uint32_t>* mapped_nodes(const void* address) const;
  bool set_user_data(const void* address, void* data);

  // The host's address for a GPU's; the program ends with a message when it is mapped to nothing.
  uintptr_t translate(uintptr_t gpu_address) const {
    const bool is_alias = gpu_address - alias_base_ < alias_bytes;
    return is_alias ? translate_alias(gpu_address) : gpu_address;
  }

  // Changes whenever executable memory is released, that is, code may be unloaded.
  uint64_t code_generation() const { return code_generation_.load(std::memory_order_acquire); }

 private:
  // Runtimes insist that registered host memory has another address on the GPU; these lie in a range of their own.
  static constexpr uintptr_t alias_bytes = uintptr_t{1} << 40;

  uintptr_t translate_alias(uintptr_t gpu_address) const;
  uintptr_t new_alias(uintptr_t host_address, size_t bytes);
  const Block* find_locked(uintptr_t address) const;

  mutable std::shared_mutex mutex_;
  std::map<uintptr_t, Block> owned_;
  std::map<uintptr_t, Block> registered_;         // by host address
  std::map<uintptr_t, uintptr_t> alias_to_host_;  // GPU address to host address of registered blocks
  std::map<uint32_t, size_t> used_bytes_;         // by node
  uintptr_t alias_base_;
  uintptr_t next_alias_;
  std::atomic<uint64_t> code_generation_{0};
};

// Zeroed pages that take no memory until touched, aligned to 2 MiB when there is room for it.
void* new_pages(size_t bytes, bool is_executable);

}  // namespace softgpu

#endif
