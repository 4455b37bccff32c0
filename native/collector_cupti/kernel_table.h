// The kernels of a process by numbers of our own, each told to the session once: CUPTI names them by a pointer, which may
// come to mean another one after a module was unloaded.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_KERNEL_TABLE_H
#define WAVESCOPE_COLLECTOR_CUPTI_KERNEL_TABLE_H

#include <cstddef>
#include <cstdint>
#include <deque>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "collector_cupti/cupti_abi.h"
#include "core/facts_log.h"

namespace wavescope::cupti {

class KernelTable {
 public:
  explicit KernelTable(FactsLog& facts) : facts_(facts), recent_(kRecent) {}
  KernelTable(const KernelTable&) = delete;
  KernelTable& operator=(const KernelTable&) = delete;

  // What pointers pointed to may have changed.
  void begin_buffer() { ++buffer_; }

  // The number of the record's kernel, from 1. Two that differ in name, registers, shared or local memory have two.
  uint64_t object_of(const KernelRecord& record);

 private:
  static constexpr std::size_t kRecent = 32768;

  struct Needs {
    uint32_t registers;
    uint32_t shared_bytes;
    uint32_t local_bytes;

    bool operator==(const Needs& other) const {
      return registers == other.registers && shared_bytes == other.shared_bytes && local_bytes == other.local_bytes;
    }
  };
  struct Kernel {
    std::string name;
    Needs needs;
    uint64_t object;
  };
  struct Key {
    std::string_view name;
    Needs needs;

    bool operator==(const Key& other) const { return needs == other.needs && name == other.name; }
  };
  struct KeyHash {
    std::size_t operator()(const Key& key) const;
  };
  // Found by the pointer of the name. Its text is compared once in each buffer.
  struct Recent {
    const char* pointer = nullptr;
    const Kernel* kernel = nullptr;
    uint64_t compared_in = 0;  // a buffer
  };

  bool is_same(const Recent& recent, const char* name, const Needs& needs) const;

  const Kernel& find_or_add(const char* name, const Needs& needs);

  FactsLog& facts_;
  uint64_t buffer_ = 1;
  std::vector<Recent> recent_;
  std::deque<Kernel> kernels_;
  std::unordered_map<Key, const Kernel*, KeyHash> by_content_;
};

}  // namespace wavescope::cupti

#endif
