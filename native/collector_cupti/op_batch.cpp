#include "collector_cupti/op_batch.h"

#include <sys/uio.h>

namespace wavescope::cupti {

OpBatch::OpBatch(Session& session, Coverage& coverage)
    : coverage_(coverage), log_(session.create_ops_log(sizeof(WavescopeGraphOpRecord))), records_(kRecords) {}

void OpBatch::flush() {
  if (used_ == 0 && !has_left_out_) return;
  const bool is_written = used_ == 0 || write();
  used_ = 0;
  has_left_out_ = false;
  for (uint32_t gpu = 0; gpu < Coverage::kMostGpus; ++gpu) {
    if (!tallies_[gpu].is_used) continue;
    count(gpu, tallies_[gpu], is_written);
    tallies_[gpu] = Tally{};
  }
}

bool OpBatch::write() {
  const iovec piece{records_.data(), used_ * sizeof(WavescopeGraphOpRecord)};
  return log_ != nullptr && log_->append(&piece, 1);
}

WavescopeLossReason OpBatch::loss_reason() const {
  if (log_ == nullptr || log_->refusal() == Refusal::kUnreachable) return WAVESCOPE_LOSS_UNREACHABLE;
  return log_->refusal() == Refusal::kNoSpace ? WAVESCOPE_LOSS_NO_SPACE : WAVESCOPE_LOSS_SIZE_LIMIT;
}

// What was counted as skipped stays so when its record could not be written.
void OpBatch::count(uint32_t gpu, const Tally& tally, bool is_written) {
  if (tally.seen != 0) coverage_.add_seen(gpu, tally.seen);
  for (int reason = 0; reason < WAVESCOPE_SKIP_REASONS; ++reason) {
    if (tally.left_out[reason] == 0) continue;
    coverage_.add_skipped(gpu, static_cast<WavescopeSkipReason>(reason), tally.left_out[reason]);
  }
  if (tally.without_times != 0) coverage_.add_lost(gpu, WAVESCOPE_LOSS_TIMESTAMPS, tally.without_times);
  if (!is_written) {
    if (tally.timed != 0) coverage_.add_lost(gpu, loss_reason(), tally.timed);
    return;
  }
  if (tally.timed != 0) coverage_.add_timed(gpu, tally.timed);
  for (int reason = 0; reason < WAVESCOPE_SKIP_REASONS; ++reason) {
    if (tally.timed_of_skipped[reason] == 0) continue;
    coverage_.add_timed_of_skipped(gpu, static_cast<WavescopeSkipReason>(reason), tally.timed_of_skipped[reason]);
  }
}

}  // namespace wavescope::cupti
