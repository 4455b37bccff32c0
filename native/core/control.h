// Whether to record just now: the control page, which `wavescope start|stop PID` and roctx pause and resume write, and the
// window asked for by delay and duration.
#ifndef WAVESCOPE_CORE_CONTROL_H
#define WAVESCOPE_CORE_CONTROL_H

#include <atomic>
#include <cstdint>
#include <string>

#include "core/clock.h"
#include "core/environment.h"
#include "format/chunk_format.h"

namespace wavescope {

class Control {
 public:
  // Works without the file as well, if it cannot be made: then only this process can pause.
  Control(const std::string& path, const Settings& settings, uint64_t start_ns);
  Control(const Control&) = delete;
  Control& operator=(const Control&) = delete;

  bool recording() const {
    return __atomic_load_n(&page_->recording, __ATOMIC_RELAXED) != 0 && (!windowed_ || in_window(boottime_ns()));
  }
  // Where to read that by itself, as long as this lives: kOff or kOn, or what says neither, after which recording() knows.
  enum Switch : uint32_t { kOff, kOn, kAsk };
  const uint32_t* switch_word() const { return windowed_ ? &kAskAlways : &page_->recording; }
  static constexpr uint32_t kAskAlways = kAsk;
  void pause() { set_recording(0); }
  void resume() { set_recording(1); }

  // Called around the dropping of records; false, when they are to stay because somebody reads them.
  bool begin_dropping();
  void end_dropping() { __atomic_store_n(&page_->dropping, 0u, __ATOMIC_SEQ_CST); }

  // Has `changed(context)` called on the thread that pauses or resumes, after each time. One at a time.
  void watch(void (*changed)(void* context), void* context);

  bool in_window(uint64_t now_ns) const { return now_ns >= first_ns_ && now_ns < last_ns_; }

 private:
  void set_recording(uint32_t recording) {
    __atomic_store_n(&own_.recording, recording, __ATOMIC_RELAXED);
    __atomic_store_n(&page_->recording, recording, __ATOMIC_RELAXED);
    if (const auto changed = changed_.load(std::memory_order_acquire)) changed(watcher_.load(std::memory_order_relaxed));
  }

  WavescopeControlPage own_{};  // where there is no file, or when somebody cuts it off
  WavescopeControlPage* page_;
  uint64_t first_ns_;
  uint64_t last_ns_;
  bool windowed_;
  std::atomic<void (*)(void*)> changed_{nullptr};
  std::atomic<void*> watcher_{nullptr};
};

}  // namespace wavescope

#endif
