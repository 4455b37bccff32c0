// The CUPTI collector of one process, from cuInit to its end: what is enabled when, flushes, slices, pauses, and yielding to
// other tools.
//
// Its worker does all that takes time. On the program's threads run CUPTI's callbacks, which take no lock of this class, and
// what another tool's calls bring about, which waits for the worker's round at most.
#ifndef WAVESCOPE_COLLECTOR_CUPTI_COLLECTOR_H
#define WAVESCOPE_COLLECTOR_CUPTI_COLLECTOR_H

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "collector_cupti/activity_decoder.h"
#include "collector_cupti/api_callbacks.h"
#include "collector_cupti/attachment.h"
#include "collector_cupti/buffer_pool.h"
#include "collector_cupti/clock_pairs.h"
#include "collector_cupti/coverage.h"
#include "collector_cupti/devices.h"
#include "collector_cupti/launch_notes.h"
#include "collector_cupti/slice_recorder.h"
#include "core/environment.h"
#include "core/session.h"
#include "core/timer_thread.h"

namespace wavescope::cupti {

class Collector {
 public:
  Collector(const CuptiLibrary& library, Session& session, const Settings& settings);
  Collector(const Collector&) = delete;
  Collector& operator=(const Collector&) = delete;

  // The one of this process, if it records or may record again; null in a forked child and after the end.
  static Collector* current() { return current_.load(std::memory_order_acquire); }

  // Subscribes and begins to record; false, with the reason, when CUPTI does not let it.
  bool begin(std::string& reason);

  // To be called inside the first call of CUDA that is seen; to be set before `begin`.
  void at_first_call(void (*hook)()) { at_first_call_ = hook; }

  // Another tool of the process wants CUPTI: everything is flushed and let go of, and a note says so. Waits for work on the
  // GPU, but not long.
  void yield_to(const char* tool);
  // The same before CUPTI is taken out of the process, and everything that is on with it.
  void yield_to_end(const char* tool);
  // That tool is done.
  void take_back();
  // It took CUPTI out of the process.
  void take_back_anew();
  // Whether the buffer is one of ours: then it is taken. Another tool's callback may get the last of them.
  bool complete(uint8_t* buffer, std::size_t valid_bytes);

  // The last flush, within the limit; what is missing then is counted as lost. Only the first call does anything. From when
  // it is called on the driver is not asked for anything, and CUPTI for nothing but that flush, because both may be on
  // their way out of the process; when it returns neither is called any more.
  bool finish(uint64_t limit_ns);
  void forget_in_child();

  const CuptiLibrary& library() const { return library_; }

 private:
  enum class State : uint8_t {
    kOff,  // CUPTI is not ours
    kOn,  // recording
    kDraining,  // nothing new is recorded; what is under way still comes
    kDetachable,  // the next call of the program takes CUPTI out of the process
    kResting,  // nothing new is recorded; CUPTI stays in the process, which has graphs
  };

  static constexpr uint64_t kLongestDrainNs = 1000000000;

  static void on_callback(void* collector, CuptiCallbackDomain domain, uint32_t callback_id, const void* data);
  static void on_request(uint8_t** buffer, std::size_t* bytes, std::size_t* most_records);
  static void on_completion(CudaContext context, uint32_t stream, uint8_t* buffer, std::size_t bytes,
                            std::size_t valid_bytes);
  static uint64_t round(void* collector);
  static void last_work(void* collector);
  static void control_changed(void* collector);

  void watch_call(const ApiCallbackData& call);
  uint64_t one_round();
  void describe_devices();
  void follow_wishes(uint64_t now_ns);
  void try_to_attach(uint64_t now_ns);
  bool attach(std::string& reason);
  bool turn_on(std::string& reason);
  void stop_recording(uint64_t now_ns, WavescopeSkipReason reason);
  void drain(uint64_t now_ns);
  void end_drain();
  void drain_here(uint64_t limit_ns);
  void undo_pause();
  bool yield(const char* tool);
  void leave_graphs(const char* tool);
  uint64_t record(uint64_t now_ns);
  // False when CUPTI does not answer.
  bool flush(uint32_t flag);
  void count_drops();
  void look_for_lost_times(uint64_t now_ns);
  std::string since_start(uint64_t ns) const;
  void write_end();

  static std::atomic<Collector*> current_;

  const CuptiLibrary library_;
  Session& session_;
  const Mode mode_;
  // Lite mode, unless its slices are off or CUPTI cannot have them: then it has all kernels that are not of graphs.
  const bool is_sliced_;
  const uint64_t flush_period_ns_;
  LaunchNotes notes_;
  Coverage coverage_;
  ActivityDecoder decoder_;
  ApiCallbacks api_;
  BufferPool pool_;
  ClockPairs clocks_;
  Devices devices_;

  void (*at_first_call_)() = nullptr;
  std::atomic<bool> was_called_{false};
  std::atomic<bool> was_left_{false};  // the first call
  std::atomic<bool> active_{true};
  std::atomic<bool> finished_{false};
  std::atomic<bool> is_quick_end_{false};
  std::atomic<bool> detach_wanted_{false};
  std::atomic<bool> is_detached_{false};
  std::atomic<bool> is_yielded_{false};  // another tool has CUPTI
  std::atomic<bool> was_finalized_{false};  // by another tool
  std::atomic<uint64_t> attach_after_ns_{0};
  std::atomic<uint64_t> rounds_done_{0};

  std::mutex mutex_;  // of all below
  State state_ = State::kOff;
  Attachment attachment_;
  SliceRecorder slices_;
  bool was_attached_ = false;
  bool is_gap_noted_ = false;  // that nothing is recorded
  bool renews_ = false;  // CUPTI is let go of, to be taken again
  uint64_t next_flush_ns_ = 0;
  uint64_t next_clock_ns_ = 0;
  uint64_t clock_readings_ = 0;
  uint64_t drain_until_ns_ = 0;
  uint64_t dropped_ = 0;
  uint64_t next_renewal_ns_ = 0;
  uint64_t times_lost_ = 0;  // when CUPTI was taken
  TimerThread thread_;
};

}  // namespace wavescope::cupti

#endif
