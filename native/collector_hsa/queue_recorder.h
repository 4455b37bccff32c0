// One intercepted queue: what happens to each packet on its way to the GPU.
#ifndef WAVESCOPE_COLLECTOR_HSA_QUEUE_RECORDER_H
#define WAVESCOPE_COLLECTOR_HSA_QUEUE_RECORDER_H

#include <cstdint>

#include "collector_hsa/hsa_tables.h"
#include "collector_hsa/pending_ops.h"
#include "collector_hsa/ring_guard.h"

namespace wavescope {

class Collector;

class QueueRecorder {
 public:
  QueueRecorder(Collector& collector, hsa_queue_t* queue, Gpu& gpu, uint16_t index, WavescopeCounterRecord& counters);

  // The runtime's callback, called under the queue's lock: passes `count` packets on, with our signals in them.
  static void on_packets(const void* packets, uint64_t count, uint64_t index, void* recorder,
                         hsa_amd_queue_intercept_packet_writer writer);

  hsa_queue_t* queue() const { return queue_; }
  uint16_t index() const { return index_; }
  PendingOps& pending() { return pending_; }
  RingGuard& ring() { return ring_; }

 private:
  using Packet = RingGuard::Packet;
  using Writer = RingGuard::Writer;

  // `next_index` is the place behind the packets in the application's queue.
  void after_the_end(const Packet* packets, uint64_t count, uint64_t next_index, Writer writer);
  void while_paused(const Packet* packets, uint64_t count, uint64_t next_index, Writer writer);
  void on_one(const Packet& packet, uint64_t next_index, Writer writer);
  void on_unusual(const Packet& packet, uint64_t next_index, Writer writer);
  void on_batch(const Packet* packets, uint64_t count, uint64_t next_index, Writer writer);
  void release_signal(const Packet& packet);
  bool wanted(const Packet& packet, bool in_batch);
  uint32_t instrument(Packet* packet, bool may_add_packet, uint8_t flags);
  void fill_record(SlotBlock* block, uint32_t slot, const Packet& packet, uint8_t flags);
  void publish();

  Collector& collector_;
  hsa_queue_t* const queue_;
  const uint16_t index_;
  PendingOps pending_;
  RingGuard ring_;
};

}  // namespace wavescope

#endif
