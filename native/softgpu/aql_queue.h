// A queue of AQL packets: dispatches, barriers and AMD's vendor packets, one after the other.
#ifndef WAVESCOPE_SOFTGPU_AQL_QUEUE_H
#define WAVESCOPE_SOFTGPU_AQL_QUEUE_H

#include <vector>

#include "softgpu/packets.h"
#include "softgpu/queue.h"

namespace softgpu {

// How a queue reports that it stopped.
struct ErrorReport {
  int64_t* reason = nullptr;
  uint32_t event_id = 0;
};

class AqlQueue final : public Queue {
 public:
  // `properties` holds the bit that asks for timestamps; it may change at any time.
  AqlQueue(uint64_t id, const QueueServices& services, const QueueMemory& memory, const uint32_t* properties,
           ErrorReport error);

  Progress advance() override;

 private:
  // An op that was taken from the ring and has not ended.
  struct Flight {
    uint64_t start_ns;
    uint64_t end_ns;
    uint64_t signal;
    uint64_t packet;
    const Kernel* kernel;  // nullptr for barriers
    FaultEffects faults;
  };
  enum class Outcome { taken, waits, failed };

  bool look_for_packets();
  void take_packets(Progress& progress);
  bool is_too_early();
  Outcome take(const Packet& packet);
  Outcome take_dispatch(const DispatchPacket& packet);
  Outcome take_barrier(const BarrierPacket& packet, WaitFor wanted);
  Outcome take_barrier_value(const BarrierValuePacket& packet);
  Outcome pass_barrier(uint64_t met_ns, uint64_t signal);
  void add_flight(const Flight& flight);
  bool retire(uint64_t now_ns);
  uint64_t next_due_ns();
  void complete(const Flight& flight, uint64_t now_ns);
  void log(const Flight& flight);
  void stop(uint32_t error_code);
  unsigned signals_that_came(const BarrierPacket& packet) const;
  uint64_t start_ns() const;
  uint64_t with_contention(uint64_t duration_ns, uint64_t start) const;
  Packet* slot(uint64_t index) const;

  const uint32_t* properties_;
  ErrorReport error_;
  uint64_t slot_mask_;
  uint64_t next_ = 0;      // packet to take
  uint64_t visible_ = 0;   // packets below it were valid when last looked
  uint64_t announced_ = 0; // packets below it have been announced by a doorbell
  uint64_t unmet_ns_ = 0;  // when the packet at hand was last seen to wait, 0 for never
  unsigned came_before_ = 0;  // bit per signal of a barrier: was not what it waited for then
  uint64_t known_now_ns_ = 0;  // the last reading of the clock
  bool has_failed_ = false;

  std::vector<Flight> flights_;  // a ring; ends never decrease
  uint64_t first_flight_ = 0;
  uint64_t end_flight_ = 0;
  uint64_t next_observed_ = 0;  // the first flight whose end somebody can notice is not before this one
};

}  // namespace softgpu

#endif
