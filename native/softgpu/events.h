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

struct AwaitedEvent {
  uint32_t id;
  uint64_t seen_age = 0;  // the age that the thread knows; 0 where ages are not used
};

class Events final : public Interrupts {
 public:
  static constexpr uint32_t limit = 4096;  // the driver's
  static constexpr uint32_t forever_ms = UINT32_MAX;

  Events();
  Events(const Events&) = delete;
  Events& operator=(const Events&) = delete;

  // A number above 0, or 0 when there are too many.
  uint32_t create(bool is_manual_reset, bool is_signaled);
  void destroy(uint32_t event_id);
  void set(uint32_t event_id);
  void reset(uint32_t event_id);
  void raise(uint32_t event_id) override { set(event_id); }

  // Whether the events came about before the time was over; ages that are used become the present ones.
  bool wait(std::vector<AwaitedEvent>& awaited, WaitFor wanted, uint32_t timeout_ms);

 private:
  // An event starts at age 1 and gets a new one with every setting, so that threads that know its age miss none.
  //
  // Where ages are not used: as in the driver, setting an auto-reset event wakes all who wait, and with nobody waiting
  // it is remembered. In the driver the first wait then takes it away from threads that were just about to wait, and
  // ROCr hangs, if rarely. Here each thread gets each setting once; a wait that ends too early does no harm.
  struct Event {
    bool exists = false;
    bool is_manual_reset = false;
    bool is_signaled = false;  // of a manual-reset event
    uint32_t waiting = 0;
    uint64_t age = 1;
    uint64_t last_set = 0;   // number of the setting, counted over all events
    uint64_t forgotten = 0;  // settings up to this number do not count
  };

  void set_locked(Event& event);
  bool take(uint32_t event_id);
  bool has_come(const AwaitedEvent& awaited);
  void report_ages(std::vector<AwaitedEvent>& awaited) const;

  std::mutex mutex_;
  std::condition_variable woken_;
  std::vector<Event> events_;
  uint32_t next_ = 1;
};

}  // namespace softgpu

#endif
