// One GPU: its queues and the thread that schedules them.
#ifndef WAVESCOPE_SOFTGPU_DEVICE_H
#define WAVESCOPE_SOFTGPU_DEVICE_H

#include <atomic>
#include <functional>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include "softgpu/aql_queue.h"
#include "softgpu/queue.h"
#include "softgpu/sdma_queue.h"

namespace softgpu {

class Device final : private LateInterrupts {
 public:
  struct Parts {
    uint32_t gpu_index;
    Configuration& configuration;
    const Clock& clock;
    const Memory& memory;
    Interrupts& interrupts;
    SignalEnds& signal_ends;
    const TruthFile* truth_file;
    uint64_t start_ns;
    std::function<void()> signals_completed;  // wakes other GPUs that wait for them
  };

  explicit Device(const Parts& parts);
  ~Device() override;
  Device(const Device&) = delete;
  Device& operator=(const Device&) = delete;

  const GpuClock& gpu_clock() const { return gpu_clock_; }

  void add_aql_queue(uint64_t id, const QueueMemory& memory, const uint32_t* properties, ErrorReport error);
  void add_sdma_queue(uint64_t id, const QueueMemory& memory);
  // Whether the queue is here. After a removal its memory is not touched any more.
  bool remove_queue(uint64_t id);
  bool suspend_queue(uint64_t id, bool is_suspended);

  // Has a sleeping scheduler look at its queues now.
  void nudge_if_asleep();
  void nudge_if_blocked();
  void stop();
  void flush_truth() { truth_.flush(); }

 private:
  struct LateInterrupt {
    uint64_t due_ns;
    uint32_t event_id;
  };

  void raise_at(uint64_t due_ns, uint32_t event_id) override;
  uint32_t busy_queues(uint64_t at_ns) const override;
  void add_queue(std::unique_ptr<Queue> queue);
  void run();
  Progress pass();
  void raise_late_interrupts(Progress& progress);
  void wait_for_work(const Progress& progress);
  void sleep(uint64_t nanoseconds, bool is_blocked);
  // Has the scheduler do something between two passes, and waits until it is done.
  void between_passes(const std::function<void()>& change);
  void nudge();
  void make_changes();

  const Pacing& pacing_;
  const Clock& clock_;
  GpuClock gpu_clock_;
  KernelTable kernels_;
  TruthBuffer truth_;
  QueueServices services_;
  Interrupts& interrupts_;
  std::function<void()> signals_completed_;
  uint32_t gpu_index_;

  std::vector<std::unique_ptr<Queue>> queues_;  // only the scheduler's
  std::vector<LateInterrupt> late_;
  uint64_t last_work_ns_ = 0;

  std::mutex changes_mutex_;
  std::vector<std::function<void()>> changes_;
  std::atomic<bool> has_changes_{false};
  std::atomic<bool> is_stopping_{false};

  enum class Sleep : uint32_t { awake, idle, blocked };
  std::atomic<Sleep> sleep_{Sleep::awake};
  std::atomic<uint32_t> nudges_{0};
  std::thread scheduler_;
};

}  // namespace softgpu

#endif
