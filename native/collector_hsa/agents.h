// The GPUs of the process, their facts, and pairs of their clock and the system's.
#ifndef WAVESCOPE_COLLECTOR_HSA_AGENTS_H
#define WAVESCOPE_COLLECTOR_HSA_AGENTS_H

#include <cstdint>
#include <mutex>
#include <vector>

#include "collector_hsa/driver_link.h"
#include "collector_hsa/hsa_api.h"
#include "core/facts_log.h"

namespace wavescope {

constexpr uint32_t kHost = 0xffffffffu;

struct Gpu {
  hsa_agent_t agent;
  uint16_t index;           // as the records name it
  bool is_tried = false;    // whether it completes our signals
  uint64_t newest_tick = 0;  // of the dispatches seen complete
  uint64_t paired_tick = 0;  // of the newest pair written
  uint64_t paired_ns = 0;
  uint64_t pair_count = 0;  // of ticks that were seen
};

class Agents {
 public:
  Agents(const HsaApi& api, FactsLog& facts);

  // Null when the agent is no GPU.
  Gpu* gpu_of(hsa_agent_t agent);
  // Its index, or kHost.
  uint32_t index_of(hsa_agent_t agent);
  std::vector<Gpu>& gpus() { return gpus_; }
  const DriverLink& driver() const { return driver_; }

  // Writes a first pair, of about now, so that ticks can be converted even if nothing is seen to complete before the end.
  void begin_pairs(Gpu& gpu);
  // Notes that `gpu` completed something between these ticks; the first time, and now and then, a pair is written.
  void saw_ticks(Gpu& gpu, uint64_t first_tick, uint64_t last_tick, uint64_t now_ns);
  // Writes pairs for what has no pair yet.
  void finish_pairs();
  // Before the runtime is shut down.
  void end() { driver_.end(); }

 private:
  static hsa_status_t visit(hsa_agent_t agent, void* agents);
  void add(hsa_agent_t agent);
  void write_pair(Gpu& gpu, uint64_t tick);
  void note_cut_off(const char* what);

  const HsaApi& api_;
  FactsLog& facts_;
  DriverLink driver_;
  bool is_cut_off_ = false;  // from the driver, as was noted
  std::mutex mutex_;
  std::vector<Gpu> gpus_;  // complete after construction
};

}  // namespace wavescope

#endif
