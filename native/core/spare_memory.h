// What the collector lives on where the system has no more memory for the process.
//
// The program may get along with that, by its own means or by chance; a thread of the collector that does not would end it.
// What needs memory there is small and soon given back: facts, names, lists of a moment.
#ifndef WAVESCOPE_CORE_SPARE_MEMORY_H
#define WAVESCOPE_CORE_SPARE_MEMORY_H

#include <atomic>
#include <cstddef>
#include <cstdint>

#include "core/spin_lock.h"

namespace wavescope {

class SpareMemory {
 public:
  static constexpr std::size_t kBytes = std::size_t{256} << 10;

  // Null when there is not so much in one piece.
  void* take(std::size_t bytes);
  // False when the memory is not of here.
  bool give_back(void* memory);

  // What may stay long has no place here: it is left out while some of this is in use.
  bool is_in_use() const { return pieces_.load(std::memory_order_relaxed) != 0; }

 private:
  static constexpr std::size_t kCellBytes = 64;
  static constexpr std::size_t kCells = kBytes / kCellBytes;

  alignas(kCellBytes) unsigned char cells_[kBytes] = {};
  uint16_t taken_[kCells] = {};  // at the first cell of each piece: how many it has
  SpinLock lock_;
  std::atomic<uint32_t> pieces_{0};
};

// There before any constructor runs.
extern SpareMemory spare_memory;

}  // namespace wavescope

#endif
