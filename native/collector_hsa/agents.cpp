#include "collector_hsa/agents.h"

#include <cstring>

#include "core/clock.h"

namespace wavescope {
namespace {

// Often at first, while the runtime's own calibration moves most and a process that is killed has no other pairs to go by:
// with every sweep, then fifty a second for a second, then five a second.
uint64_t pair_period_ns(uint64_t pair_count) {
  if (pair_count < 20) return 0;
  return pair_count < 70 ? 20000000 : 200000000;
}

template <typename Value>
Value agent_info(const HsaApi& api, hsa_agent_t agent, uint32_t attribute) {
  Value value{};
  if (api.agent_get_info(agent, static_cast<hsa_agent_info_t>(attribute), &value) != HSA_STATUS_SUCCESS) return Value{};
  return value;
}

struct Text {
  char bytes[128];
};

std::string text_info(const HsaApi& api, hsa_agent_t agent, uint32_t attribute) {
  Text text = agent_info<Text>(api, agent, attribute);
  return std::string(text.bytes, strnlen(text.bytes, sizeof text.bytes));
}

}  // namespace

Agents::Agents(const HsaApi& api, FactsLog& facts) : api_(api), facts_(facts) { api_.iterate_agents(visit, this); }

hsa_status_t Agents::visit(hsa_agent_t agent, void* agents) {
  auto* self = static_cast<Agents*>(agents);
  if (agent_info<hsa_device_type_t>(self->api_, agent, HSA_AGENT_INFO_DEVICE) == HSA_DEVICE_TYPE_GPU) self->add(agent);
  return HSA_STATUS_SUCCESS;
}

void Agents::add(hsa_agent_t agent) {
  Gpu gpu{};
  gpu.agent = agent;
  gpu.index = static_cast<uint16_t>(gpus_.size());
  gpus_.push_back(gpu);
  const auto number = [&](uint32_t attribute) { return agent_info<uint32_t>(api_, agent, attribute); };
  facts_.append(Fact("agent")
                    .add("gpu", uint32_t{gpu.index})
                    .add("name", text_info(api_, agent, HSA_AGENT_INFO_NAME))
                    .add("product", text_info(api_, agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME))
                    .add("uuid", text_info(api_, agent, HSA_AMD_AGENT_INFO_UUID))
                    .add("cu_count", number(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT))
                    .add("clock_mhz", number(HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY))
                    .add("memory_clock_mhz", number(HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY))
                    .add("memory_width_bits", number(HSA_AMD_AGENT_INFO_MEMORY_WIDTH))
                    .add("wave_size", number(HSA_AGENT_INFO_WAVEFRONT_SIZE))
                    .add("driver_node", number(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID))
                    .add("bdf", number(HSA_AMD_AGENT_INFO_BDFID)));
}

Gpu* Agents::gpu_of(hsa_agent_t agent) {
  for (Gpu& gpu : gpus_) {
    if (gpu.agent.handle == agent.handle) return &gpu;
  }
  return nullptr;
}

uint32_t Agents::index_of(hsa_agent_t agent) {
  const Gpu* gpu = gpu_of(agent);
  return gpu == nullptr ? kHost : gpu->index;
}

void Agents::saw_ticks(Gpu& gpu, uint64_t first_tick, uint64_t last_tick, uint64_t now_ns) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (gpu.pair_count == 0) write_pair(gpu, first_tick);
  if (last_tick > gpu.newest_tick) gpu.newest_tick = last_tick;
  if (now_ns - gpu.paired_ns < pair_period_ns(gpu.pair_count)) return;
  gpu.paired_ns = now_ns;
  write_pair(gpu, gpu.newest_tick);
}

void Agents::finish_pairs() {
  const std::lock_guard<std::mutex> lock(mutex_);
  for (Gpu& gpu : gpus_) write_pair(gpu, gpu.newest_tick);
}

void Agents::write_pair(Gpu& gpu, uint64_t tick) {
  uint64_t ns = 0;
  if (tick == 0 || tick == gpu.paired_tick) return;
  if (api_.convert_tick(gpu.agent, tick, &ns) != HSA_STATUS_SUCCESS) return;
  facts_.append(Fact("clock").add("gpu", uint32_t{gpu.index}).add("ticks", tick).add("ns", ns));
  gpu.paired_tick = tick;
  ++gpu.pair_count;
}

}  // namespace wavescope
