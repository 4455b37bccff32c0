#include "core/spare_memory.h"

#include <algorithm>
#include <mutex>

namespace wavescope {

SpareMemory spare_memory;

void* SpareMemory::take(std::size_t bytes) {
  const std::size_t wanted = std::max<std::size_t>(1, (bytes + kCellBytes - 1) / kCellBytes);
  if (bytes > kBytes) return nullptr;
  const std::lock_guard<SpinLock> lock(lock_);
  std::size_t free_cells = 0;
  for (std::size_t cell = 0; cell < kCells;) {
    if (taken_[cell] != 0) {
      cell += taken_[cell];
      free_cells = 0;
      continue;
    }
    ++cell;
    if (++free_cells < wanted) continue;
    const std::size_t first = cell - wanted;
    taken_[first] = static_cast<uint16_t>(wanted);
    pieces_.fetch_add(1, std::memory_order_relaxed);
    return &cells_[first * kCellBytes];
  }
  return nullptr;
}

bool SpareMemory::give_back(void* memory) {
  const auto place = reinterpret_cast<uintptr_t>(memory) - reinterpret_cast<uintptr_t>(cells_);
  if (place >= kBytes) return false;
  const std::lock_guard<SpinLock> lock(lock_);
  taken_[place / kCellBytes] = 0;
  pieces_.fetch_sub(1, std::memory_order_relaxed);
  return true;
}

}  // namespace wavescope
