#include "collector_hsa/copy_recorder.h"

#include "collector_hsa/collector.h"
#include "core/clock.h"

namespace wavescope {

CopyRecorder::CopyRecorder(Collector& collector) : collector_(collector) {
  for (Gpu& gpu : collector.agents().gpus()) {
    pending_.push_back(std::make_unique<PendingOps>(collector.pool(), collector.app_signals(), &gpu,
                                                    collector.new_counters(gpu.index, kQueue)));
  }
}

CopySlot CopyRecorder::before_copy(const CopyShape& shape, hsa_signal_t completion) {
  Agents& agents = collector_.agents();
  // The runtime lets the source's GPU do the work, and the target's when the source is host memory.
  const uint32_t source = agents.index_of(shape.source);
  const uint32_t worker = source == kHost ? agents.index_of(shape.target) : source;
  if (worker == kHost) {
    collector_.app_signals().release_signal(completion, false);
    return {};
  }
  const std::lock_guard<std::mutex> lock(mutex_);
  PendingOps& pending = *pending_[worker];
  count(pending.counters().packets);
  count(pending.counters().seen);
  if (!collector_.recording()) {
    uint64_t& paused = pending.counters().skipped[WAVESCOPE_SKIP_PAUSED];
    count(paused);
    collector_.app_signals().release_signal(completion, false);
    return CopySlot{&pending, &paused};
  }
  return record(pending, shape, completion);
}

void CopyRecorder::refused(const CopySlot& copy) {
  if (copy.pending == nullptr) return;
  const std::lock_guard<std::mutex> lock(mutex_);
  uncount(copy.pending->counters().packets);
  uncount(copy.pending->counters().seen);
  if (copy.counted_as != nullptr) uncount(*copy.counted_as);
  if (copy.block == nullptr) return;
  // Nobody looks at the record before its slot is taken, and nothing completes the signal of a copy that never ran.
  copy.block->records[copy.slot].kind = WAVESCOPE_OP_NONE;
  collector_.app_signals().take_times(copy.block, copy.slot, copy.generation, WaitPolicy::kGiveUp);
}

CopySlot CopyRecorder::record(PendingOps& pending, const CopyShape& shape, hsa_signal_t completion) {
  AppSignals& signals = collector_.app_signals();
  auto* app_signal = reinterpret_cast<amd_signal_t*>(completion.handle);
  if (!pending.reserve()) {
    uint64_t& lost = pending.counters().lost[WAVESCOPE_LOSS_BUFFER_FULL];
    count(lost);
    signals.release_signal(completion, false);
    return CopySlot{&pending, &lost};
  }
  SlotBlock* block = pending.block();
  const uint32_t slot = pending.slot();
  const ThreadState& thread = thread_state();
  WavescopeOpRecord& record = block->records[slot];
  record = WavescopeOpRecord{};
  record.kind = WAVESCOPE_OP_COPY;
  record.flags = WAVESCOPE_OP_RAW_TICKS | WAVESCOPE_OP_APP_SIGNAL;
  record.gpu = pending.gpu()->index;
  record.thread = thread.thread_id;
  record.start = boottime_ns();
  record.end = app_signal == nullptr ? 0 : static_cast<uint64_t>(value_of(app_signal));
  record.correlation = thread.correlation;
  record.kernel = shape.bytes;
  record.grid[0] = collector_.agents().index_of(shape.source);
  record.grid[1] = collector_.agents().index_of(shape.target);
  record.grid[2] = shape.engine;
  record.queue = kQueue;
  record.marker = thread.marker;
  block->set_kind(slot, SlotKind::kCopy);
  if (app_signal == nullptr || !signals.adopt_app_signal(completion, block, slot)) {
    signals.take_without_times(block, slot);
  }
  pending.publish();
  collector_.start_worker();
  collector_.wake_worker();
  collector_.watch().published(block);
  return CopySlot{&pending, nullptr, block, slot, block->generation};
}

}  // namespace wavescope
