// Lite mode: turns records of kernels on and off, slice by slice, and writes of each what it can vouch for.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_SLICE_RECORDER_H
#define WAVESCOPE_COLLECTOR_CUPTI_SLICE_RECORDER_H

#include <cstdint>

#include "collector_cupti/activity_decoder.h"
#include "collector_cupti/api_callbacks.h"
#include "collector_cupti/attachment.h"
#include "collector_cupti/coverage.h"
#include "collector_cupti/slices.h"
#include "core/environment.h"
#include "core/session.h"

namespace wavescope::cupti {

class SliceRecorder {
 public:
  // What it works with, all of which the collector has.
  struct Parts {
    const CuptiLibrary& library;
    Session& session;
    Attachment& attachment;
    ApiCallbacks& api;
    ActivityDecoder& decoder;
    Coverage& coverage;
  };

  SliceRecorder(const Parts& parts, const Settings& settings);
  SliceRecorder(const SliceRecorder&) = delete;
  SliceRecorder& operator=(const SliceRecorder&) = delete;

  // One thread at a time. `dropped` is the count of records that CUPTI dropped so far.

  // Records are between slices, the first of which begins with the next step.
  void restart();
  // Begins a slice, ends it, or takes note of its records, whichever it is time for; how long until there is more to do.
  uint64_t step(uint64_t now_ns, uint64_t dropped);
  // When records are to be flushed for the slice that is over; UINT64_MAX when there is none.
  uint64_t flush_at_ns() const { return flush_at_ns_; }
  void flushed() { flush_at_ns_ = UINT64_MAX; }
  // Recording ends: the slice is over. Its records are flushed by the caller, who then settles it.
  void close();
  void settle_last(uint64_t dropped);

  // Slices with kernels that can vouch for no time.
  uint64_t without_window() const { return without_window_; }

 private:
  void begin_slice(uint64_t dropped);
  void end_slice();
  void settle(uint64_t now_ns, uint64_t dropped);
  void write_window(uint64_t dropped);

  const Parts parts_;
  const uint64_t longest_step_ns_;
  SliceClock clock_;
  SliceRecords records_;
  uint64_t seen_ = 0;  // kernels, when the last slice began
  uint64_t flush_at_ns_ = UINT64_MAX;
  uint64_t settling_step_ns_ = 0;
  uint64_t without_window_ = 0;
  bool failure_is_noted_ = false;
};

}  // namespace wavescope::cupti

#endif
