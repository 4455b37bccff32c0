// A delivered buffer of CUPTI's activity records as records of the session.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_ACTIVITY_DECODER_H
#define WAVESCOPE_COLLECTOR_CUPTI_ACTIVITY_DECODER_H

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <vector>

#include "collector_cupti/coverage.h"
#include "collector_cupti/cupti_abi.h"
#include "collector_cupti/cupti_library.h"
#include "collector_cupti/kernel_table.h"
#include "collector_cupti/launch_notes.h"
#include "collector_cupti/op_batch.h"
#include "collector_cupti/recorded_time.h"
#include "collector_cupti/stream_table.h"
#include "core/session.h"

namespace wavescope::cupti {

// When the kernels of a queue began, in CUPTI's time.
struct KernelStarts {
  uint16_t queue;
  uint64_t first;
  uint64_t last;
  uint64_t kernels;
  uint64_t left_out = 0;  // kernels that began after those, and have no times of their own
};

class ActivityDecoder {
 public:
  ActivityDecoder(Session& session, const CuptiLibrary& library, LaunchNotes& notes, Coverage& coverage);
  ActivityDecoder(const ActivityDecoder&) = delete;
  ActivityDecoder& operator=(const ActivityDecoder&) = delete;

  // Writes what the buffer holds to the session's files before it returns. Any thread; one at a time by its own lock.
  void decode(const uint8_t* buffer, std::size_t bytes);

  // A bit for each GPU that there was a record of; the last one stands for all that follow.
  uint64_t gpus() const { return gpus_.load(std::memory_order_acquire); }

  // Of the kernels that were decoded since the last call, queue by queue.
  std::vector<KernelStarts> take_kernel_starts();

  // Gives back space that was allocated ahead, and says what was not understood.
  void finish();

 private:
  void decode_all(const uint8_t* buffer, std::size_t bytes);
  // False when it is not whole.
  bool decode_one(CuptiActivityKind kind, const uint8_t* record, std::size_t bytes);
  void add(const KernelRecord& record);
  void add(const MemcpyRecord& record);
  void add(const MemcpyPeerRecord& record);
  void add(const MemsetRecord& record);
  void add(const GraphTraceRecord& record);

  template <typename Record>
  bool decode_as(const uint8_t* record, std::size_t bytes);
  template <typename Record>
  WavescopeGraphOpRecord& add_op(WavescopeOpKind kind, const Record& record, uint64_t subject);
  template <typename Record>
  void add_copy(const Record& record, uint32_t source, uint32_t target);
  const LaunchNote& note_of(uint32_t correlation);
  KernelStarts& starts_of(uint16_t queue);
  template <typename Record>
  bool is_overwritten(const Record& record) const {
    return record.graph_node != 0 && __builtin_expect(notes_.recorded_time().was_off(record.start, record.end), 0) &&
           notes_.is_overwritten(record.correlation);
  }
  void leave_out(const KernelRecord& record);
  bool was_launched_in_pause(uint32_t correlation);
  bool is_unwanted(uint32_t correlation);

  Session& session_;
  const CuptiLibrary& library_;
  LaunchNotes& notes_;
  std::atomic<uint64_t> gpus_{0};
  std::mutex mutex_;  // of all below
  OpBatch batch_;
  KernelTable kernels_;
  StreamTable streams_;
  uint32_t noted_correlation_ = 0;  // 0: none
  LaunchNote note_;
  std::vector<KernelStarts> starts_;  // by queue; `first` is after `last` where there was none
  std::map<uint32_t, uint64_t> unknown_kinds_;
  uint64_t malformed_ = 0;
  uint64_t out_of_memory_ = 0;
};

}  // namespace wavescope::cupti

#endif
