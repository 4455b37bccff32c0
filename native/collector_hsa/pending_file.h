// Memory for dispatches in flight that is still there when the process is not: pages of a file without a disk.
//
// The GPU writes completion and times into them itself, so what it completed is known however the process ends, and
// however long its threads had not run. A file system with a disk will not do: it writes pages back while the GPU writes
// them, for which the driver would have to stop its queues.
#ifndef WAVESCOPE_COLLECTOR_HSA_PENDING_FILE_H
#define WAVESCOPE_COLLECTOR_HSA_PENDING_FILE_H

#include <cstdint>
#include <optional>

#include "core/own_file.h"
#include "core/session.h"
#include "format/chunk_format.h"

namespace wavescope {

class PendingFile {
 public:
  static constexpr uint32_t kMostBlocks = 512;

  explicit PendingFile(const Session& session);
  PendingFile(const PendingFile&) = delete;
  PendingFile& operator=(const PendingFile&) = delete;

  // A block that nobody uses; null when there is no room or no such file system.
  WavescopePendingBlock* take();

  // Makes all blocks free: nothing in them is in flight any more.
  void take_back_all();

  // At an orderly end. Safe in a signal handler.
  void remove();

 private:
  static constexpr std::size_t kNamespaceBytes = 64;

  void describe(const Session& session);
  bool map_more(uint32_t blocks);

  std::optional<OwnFile> file_;
  FileWindow header_;
  WavescopePendingBlock* blocks_[kMostBlocks] = {};
  uint32_t mapped_ = 0;  // blocks with memory behind them
  uint32_t taken_ = 0;
};

}  // namespace wavescope

#endif
