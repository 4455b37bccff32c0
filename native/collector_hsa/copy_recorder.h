// Asynchronous copies, which the runtime hands to the copy engines or to its own kernels.
//
// A copy keeps the application's signal where a dispatch would; its times are read from there. Where the signal is shared
// with something else in flight, the copy is written down without times.
#ifndef WAVESCOPE_COLLECTOR_HSA_COPY_RECORDER_H
#define WAVESCOPE_COLLECTOR_HSA_COPY_RECORDER_H

#include <cstdint>
#include <memory>
#include <mutex>
#include <vector>

#include "collector_hsa/agents.h"
#include "collector_hsa/hsa_abi.h"
#include "collector_hsa/pending_ops.h"

namespace wavescope {

class Collector;

struct CopyShape {
  uint64_t bytes;
  hsa_agent_t target;
  hsa_agent_t source;
  uint32_t engine;  // bit of the engine, kHost when the runtime chooses
};

// Where a copy is recorded; without a block it is only counted, without `pending` not even that.
struct CopySlot {
  PendingOps* pending = nullptr;
  uint64_t* counted_as = nullptr;  // besides as seen: where it is not recorded
  SlotBlock* block = nullptr;
  uint32_t slot = 0;
  uint64_t generation = 0;
};

class CopyRecorder {
 public:
  // Counters of copies, one record per GPU.
  static constexpr uint16_t kQueue = 0xffff;

  explicit CopyRecorder(Collector& collector);

  // Before the copy is given to the runtime.
  CopySlot before_copy(const CopyShape& shape, hsa_signal_t completion);
  // The runtime did not take it: it is as if there had been none.
  void refused(const CopySlot& copy);

  std::vector<std::unique_ptr<PendingOps>>& pending() { return pending_; }

 private:
  CopySlot record(PendingOps& pending, const CopyShape& shape, hsa_signal_t completion);

  Collector& collector_;
  std::mutex mutex_;                                   // copies come from any thread
  std::vector<std::unique_ptr<PendingOps>> pending_;  // by GPU
};

}  // namespace wavescope

#endif
