// The machine that this front end shows to ROCr 5.x: node 0 is the CPU, nodes 1.. are the GPUs.
#ifndef WAVESCOPE_SOFTGPU_THUNK_5X_MACHINE_H
#define WAVESCOPE_SOFTGPU_THUNK_5X_MACHINE_H

#include <hsakmt.h>

#include <array>
#include <atomic>
#include <map>
#include <memory>
#include <mutex>
#include <optional>

#include "softgpu/engine.h"

#define SOFTGPU_THUNK extern "C" __attribute__((visibility("default"))) HSAKMT_STATUS HSAKMTAPI

namespace softgpu {

constexpr uint32_t cpu_node = 0;

// Places in the doorbell page and what the thunk itself must remember of each queue.
class QueueRecords {
 public:
  struct Record {
    uint64_t id;
    uint32_t gpu_index;
    uint32_t doorbell_slot;
    std::array<uint64_t, 2> indices;  // read and write index of an SDMA queue
  };

  QueueRecords();
  ~QueueRecords();
  QueueRecords(const QueueRecords&) = delete;
  QueueRecords& operator=(const QueueRecords&) = delete;

  Record* create(uint32_t gpu_index);  // nullptr when there are too many
  std::optional<uint32_t> gpu_of(uint64_t id);
  void remove(uint64_t id);
  uint64_t* doorbell(const Record& record) const { return &doorbells_[record.doorbell_slot]; }

 private:
  static constexpr uint32_t limit = 1024;
  std::mutex mutex_;
  std::map<uint64_t, std::unique_ptr<Record>> records_;
  std::array<bool, limit> is_used_{};
  uint64_t* doorbells_;
  uint64_t next_id_ = 1;
};

struct Machine {
  explicit Machine(std::unique_ptr<Configuration> given);
  ~Machine();
  Machine(const Machine&) = delete;
  Machine& operator=(const Machine&) = delete;

  bool has_node(uint32_t node) const { return node <= configuration->gpu_count; }
  bool is_gpu(uint32_t node) const { return node != cpu_node && has_node(node); }
  static uint32_t gpu_index(uint32_t node) { return node - 1; }

  std::unique_ptr<Configuration> configuration;
  SystemClock clock;
  Memory memory;
  Events events;
  Engine engine;
  QueueRecords queues;
  void* register_page;  // HDP flush registers: written to, never read
};

// The machine of this process; nullptr before it is opened and in children of fork. It is never destroyed: threads
// of the runtime use it until the process ends.
Machine* machine();
HSAKMT_STATUS open_machine();

}  // namespace softgpu

#endif
