// What GPUs know of memory: blocks at the addresses that the runtime chose, and where the host finds them.
#ifndef WAVESCOPE_SOFTGPU_MEMORY_H
#define WAVESCOPE_SOFTGPU_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <shared_mutex>

namespace softgpu {

struct Block {
  uintptr_t gpu_address = 0;
  uintptr_t host_address = 0;  // differs for registered host memory and for memory that the host does not see
  size_t bytes = 0;
  bool is_executable = false;
};

class Memory {
 public:
  Memory() = default;
  Memory(const Memory&) = delete;
  Memory& operator=(const Memory&) = delete;

  // A block takes the place of an older one at the same address.
  void add(const Block& block);
  void remove(uintptr_t gpu_address);

  // A copy of the block that holds a GPU's address.
  std::optional<Block> find(uintptr_t gpu_address) const;

  // The host's address for a GPU's: the same one unless it is in a block that says otherwise.
  uintptr_t translate(uintptr_t gpu_address) const {
    const bool may_be_alias = gpu_address >= aliases_first_.load(std::memory_order_acquire) &&
                              gpu_address < aliases_end_.load(std::memory_order_acquire);
    return may_be_alias ? translate_alias(gpu_address) : gpu_address;
  }

  // Changes whenever executable memory is removed, that is, code may be unloaded.
  uint64_t code_generation() const { return code_generation_.load(std::memory_order_acquire); }

 private:
  using Blocks = std::map<uintptr_t, Block>;  // by GPU address

  uintptr_t translate_alias(uintptr_t gpu_address) const;

  mutable std::shared_mutex mutex_;
  Blocks blocks_;
  Blocks aliases_;  // those of them whose host address differs
  // All aliases that ever were lie within this range: most addresses are told from them without a lock. It only grows,
  // so that the two ends need not change together.
  std::atomic<uintptr_t> aliases_first_{UINTPTR_MAX};
  std::atomic<uintptr_t> aliases_end_{0};
  std::atomic<uint64_t> code_generation_{0};
};

}  // namespace softgpu

#endif
