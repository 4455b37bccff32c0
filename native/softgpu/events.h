// Events with the semantics of the kernel driver (KFD): what interrupts raise and threads of the runtime wait for.
#ifndef WAVESCOPE_SOFTGPU_EVENTS_H
#define WAVESCOPE_SOFTGPU_EVENTS_H

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <vector>

namespace softgpu {

// What a GPU needs to interrupt the host.
class Interrupts {
 public:
  virtual ~Interrupts() = default;
  virtual void raise(uint32_t event_id) = 0;
};

enum class WaitFor { any, all };

class Events final : public Interrupts {
 public:
  static constexpr uint32_t limit = 4096;  // the driver's
  static constexpr uint32_t forever_ms = UINT32_MAX;

  Events();
  ~Events() override;
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // A number above 0, or 0 when there are too many.
  uint32_t create(bool is_manual_reset, bool is_signaled);
  void destroy(uint32_t event_id);
  void set(uint32_t event_id);
  void reset(uint32_t event_id);
  void raise(uint32_t event_id) override { set(event_id); }

  // The place into which a GPU writes the number before it raises the event.
  uint64_t mailbox(uint32_t event_id) const;

  // Whether the events came about before the time was over.
  bool wait(const std::vector<uint32_t>& event_ids, WaitFor wanted, uint32_t timeout_ms);

 private:
  // An auto-reset event wakes all who wait and stays unsignaled; with nobody waiting it stays signaled until a
  // wait takes it.
  struct Event {
    bool exists = false;
    bool is_manual_reset = false;
    bool is_signaled = false;
    uint32_t waiting = 0;
    uint64_t times_woken = 0;
  };

  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<Event> events_;
  uint32_t next_ = 1;
  uint64_t* mailboxes_;
};

}  // namespace softgpu

#endif
