// One intercepted queue: what happens to each packet on its way to the GPU.
#ifndef WAVESCOPE_COLLECTOR_HSA_QUEUE_RECORDER_H
#define WAVESCOPE_COLLECTOR_HSA_QUEUE_RECORDER_H

#include <cstdint>
#include <optional>

#include "collector_hsa/hsa_tables.h"
#include "collector_hsa/own_ring.h"
#include "collector_hsa/pending_ops.h"
#include "collector_hsa/ring_guard.h"

namespace wavescope {

class Collector;

class QueueRecorder {
 public:
  QueueRecorder(Collector& collector, hsa_queue_t* queue, Gpu& gpu, uint16_t index, WavescopeCounterRecord& counters);

  // How packets come here: by the runtime's interception, or by a ring of ours; false where that cannot be.
  bool intercept_with_runtime();
  bool intercept_with_own_ring();

  // The runtime's callback, called under the queue's lock: passes `count` packets on, with our signals in them.
  static void on_packets(const void* packets, uint64_t count, uint64_t index, void* recorder,
                         hsa_amd_queue_intercept_packet_writer writer);

  // The application rang the doorbell of a queue with a ring of ours: passes on what it has put there.
  void on_doorbell(uint64_t last_index);
  // The worker, now and then: the same where nobody rang.
  void look_for_packets_left();

  hsa_queue_t* queue() const { return queue_; }
  uint16_t index() const { return index_; }
  PendingOps& pending() { return pending_; }

  // The queue is about to be destroyed: its packets are not looked at any more.
  void step_aside();
  // Gives the runtime back its signals: the queue is gone, or the runtime is about to be.
  void give_back_signals();

 private:
  using Packet = RingGuard::Packet;
  struct RuntimeWay;
  struct OwnWay;

  void record_one(const Packet& packet, RuntimeWay way);
  void on_seldom(const Packet* packets, uint64_t count, RuntimeWay way);
  template <typename Way>
  void while_paused(const Packet* packets, uint64_t count, Way way);
  template <typename Way>
  void on_one(const Packet& packet, Way way);
  template <typename Way>
  void on_unusual(const Packet& packet, Way way);
  template <typename Way>
  void on_batch(const Packet* packets, uint64_t count, Way way);
  void pass_on_announced();
  bool may_know(hsa_signal_t signal) const;
  void release_signal(const Packet& packet);
  bool wanted(const Packet& packet, bool in_batch);
  uint32_t instrument(Packet* packet, bool may_add_packet, uint8_t flags);
  void fill_record(SlotBlock* block, uint32_t slot, const Packet& packet, uint8_t flags);
  void publish();

  Collector& collector_;
  const Control& control_;
  hsa_queue_t* const queue_;
  const uint16_t index_;
  PendingOps pending_;
  std::optional<RingGuard> guard_;  // with the runtime's interception
  std::optional<OwnRing> own_ring_;
  bool has_rung_ = false;  // with the ring's lock
  bool has_told_ = false;  // worker
};

}  // namespace wavescope

#endif
