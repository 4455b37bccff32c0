// What one process records: the files of its session, and its end.
//
// There is one session per process, made when it is first needed and never destroyed, because the application's threads
// may record until the very last moment. A forked child starts without one and makes its own at its first use, with new
// files; it never writes to its parent's. Nothing has to happen for what was recorded to be readable: a process that is
// killed only lacks the "end" fact.
#ifndef WAVESCOPE_CORE_SESSION_H
#define WAVESCOPE_CORE_SESSION_H

#include <atomic>
#include <cstdint>
#include <mutex>
#include <string>

#include "core/byte_budget.h"
#include "core/control.h"
#include "core/facts_log.h"
#include "core/record_log.h"
#include "core/record_space.h"
#include "core/stream_file.h"
#include "core/text_log.h"
#include "core/thread_state.h"

namespace wavescope {

class Session {
 public:
  // The session of this process; null when nothing is to be recorded or its folder cannot be written.
  static Session* current() {
    Session* session = current_.load(std::memory_order_acquire);
    return __builtin_expect(session != nullptr, 1) ? session : open();
  }
  // The same, but never makes one.
  static Session* if_open() { return current_.load(std::memory_order_acquire); }

  // Called once at the normal end of the process, newest first, before the "end" fact is written. At most 16.
  using Hook = void (*)();
  static void at_finish(Hook hook);
  // The same for an end by _exit, which may be called in a signal handler: no locks, no memory.
  static void at_quick_finish(Hook hook);
  // Called in a forked child, while it has one thread and no session yet. At most 16.
  static void at_fork_child(Hook hook);

  FactsLog& facts() { return facts_; }
  TextLog& texts() { return texts_; }
  Control& control() { return control_; }
  const Control& control() const { return control_; }
  bool recording() const { return control_.recording(); }

  // A zeroed record of the calling thread's block, to be filled and then published; null when it is lost (counted).
  WavescopeMarkerRecord* new_marker() { return new_record<WavescopeMarkerRecord>(markers_, thread_state().markers); }
  WavescopeCallRecord* new_call() { return new_record<WavescopeCallRecord>(calls_, thread_state().calls); }

  // A record of the counters stream, to be updated in place; null when there is no room.
  WavescopeCounterRecord* new_counter();

  // The file of op records, each of so many bytes, without a mapping: they have one writer, which appends many at a time.
  // Null when it cannot be made. The caller owns it; ask once.
  RecordLog* create_ops_log(uint32_t record_bytes);

  uint32_t next_marker_id() { return last_marker_.fetch_add(1, std::memory_order_relaxed) + 1; }
  uint64_t next_correlation() { return last_correlation_.fetch_add(1, std::memory_order_relaxed) + 1; }

  uint64_t start_ns() const { return start_ns_; }
  const std::string& folder() const { return folder_; }
  // What the names of the process's files begin with.
  std::string name() const { return std::to_string(pid_) + "-" + std::to_string(start_ns_); }
  WavescopeStreamHeader header_of(WavescopeStream stream, uint32_t record_bytes) const;
  uint64_t bytes_written() const { return budget_.written(); }

  void thread_ends(ThreadState& state);

  // Runs the hooks and writes the "end" fact; later calls do nothing.
  static void finish(const char* reason);
  // The same for _exit.
  static void quick_finish(const char* reason);

 private:
  // A stream that is made when its first record is wanted.
  struct LazyStream {
    const char* const suffix;
    const WavescopeStream stream;
    const uint32_t record_bytes;
    const IsOver is_over;
    std::atomic<StreamFile*> file{nullptr};
    std::atomic<uint64_t> refused{0};
    Refusal why = Refusal::kNone;  // there is no file
    std::once_flag made{};
  };

  explicit Session(const std::string& folder);
  static Session* open();
  static void forget_in_child();
  static Session* to_finish();
  StreamFile* make(LazyStream& lazy);
  std::string path_of(const char* suffix) const { return folder_ + "/" + name() + "." + suffix; }
  void remove_files() const;
  void trim();
  static bool is_closed(const char* marker);
  static bool is_returned(const char* call);
  void note_if_oldest_stay(bool can_drop);
  void note_losses(const LazyStream& lazy, const char* what);

  template <typename Record>
  Record* new_record(LazyStream& lazy, RecordCursor& cursor) {
    StreamFile* file = lazy.file.load(std::memory_order_acquire);
    if (__builtin_expect(file == nullptr, 0)) file = make(lazy);
    return file == nullptr ? nullptr : static_cast<Record*>(file->next(cursor));
  }

  static std::atomic<Session*> current_;

  const uint64_t start_ns_;
  const uint32_t pid_;
  const std::string folder_;
  ByteBudget budget_;
  FactsLog facts_;
  TextLog texts_;
  Control control_;
  RecordSpace space_;
  LazyStream markers_{"markers", WAVESCOPE_STREAM_MARKERS, sizeof(WavescopeMarkerRecord), is_closed};
  LazyStream calls_{"calls", WAVESCOPE_STREAM_CALLS, sizeof(WavescopeCallRecord), is_returned};
  LazyStream counters_{"counters", WAVESCOPE_STREAM_COUNTERS, sizeof(WavescopeCounterRecord), nullptr};
  std::mutex counter_mutex_;
  RecordCursor counter_cursor_{};
  std::atomic<uint32_t> last_marker_{0};
  std::atomic<uint64_t> last_correlation_{0};
};

}  // namespace wavescope

#endif
