#include "collector_hsa/agents.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <string>

#include "core/clock.h"
#include "core/clock_period.h"

namespace wavescope {
namespace {

// Often at first, while the runtime's own calibration moves most and a process that is killed has no other pairs to go by:
// with every sweep, then fifty a second for a second, then five a second, after an hour fewer.
uint64_t pair_period_ns(uint64_t pair_count) {
  if (pair_count < 20) return 0;
  return pair_count < 70 ? 20000000 : clock_period_ns(200000000, pair_count);
}

constexpr uint64_t kFarFutureNs = uint64_t{1} << 61;
constexpr uint64_t kSoonNs = 1000000000;
constexpr uint64_t kLargestTick = uint64_t{1} << 60;
constexpr uint64_t kFarTicks = 10000000;
constexpr uint64_t kRateTicks = 100000000;

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

struct MemoryBytes {
  const HsaApi& api;
  uint64_t total;
};

hsa_status_t add_pool(hsa_amd_memory_pool_t pool, void* opaque) {
  auto* memory = static_cast<MemoryBytes*>(opaque);
  hsa_amd_segment_t segment{};
  std::size_t bytes = 0;
  memory->api.memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment);
  if (segment != HSA_AMD_SEGMENT_GLOBAL) return HSA_STATUS_SUCCESS;
  // Coarse and fine pools are views of the same memory.
  if (memory->api.memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SIZE, &bytes) == HSA_STATUS_SUCCESS) {
    memory->total = std::max<uint64_t>(memory->total, bytes);
  }
  return HSA_STATUS_SUCCESS;
}

uint64_t memory_bytes(const HsaApi& api, hsa_agent_t agent) {
  MemoryBytes memory{api, 0};
  if (api.agent_iterate_memory_pools == nullptr || api.memory_pool_get_info == nullptr) return 0;
  api.agent_iterate_memory_pools(agent, add_pool, &memory);
  return memory.total;
}

// In ticks per second, 0: not known. The runtime reads its clocks before it converts a far tick, and the time that this
// takes is in the result: the rate is that between two far ticks, and the median of several in case a thread is held up
// meanwhile.
uint64_t rate_at(const HsaApi& api, hsa_agent_t agent, uint64_t tick) {
  std::array<uint64_t, 5> rates{};
  for (uint64_t& rate : rates) {
    uint64_t near_ns = 0;
    uint64_t far_ns = 0;
    if (api.convert_tick(agent, tick + kFarTicks, &near_ns) != HSA_STATUS_SUCCESS ||
        api.convert_tick(agent, tick + kFarTicks + kRateTicks, &far_ns) != HSA_STATUS_SUCCESS || far_ns <= near_ns) {
      return 0;
    }
    rate = kRateTicks * 1000000000 / (far_ns - near_ns);
  }
  std::sort(rates.begin(), rates.end());
  return rates[rates.size() / 2];
}

struct FirstPair {
  uint64_t tick;
  uint64_t ns;
  uint64_t ticks_per_second;
};

// The runtime converts ticks to times but does not tell the tick of now. It is looked for: ticks of the past give times
// before now, or, with older runtimes, times that are out of the question.
std::optional<FirstPair> first_pair(const HsaApi& api, hsa_agent_t agent) {
  const uint64_t now_ns = boottime_ns();
  uint64_t ns = 0;
  const auto is_past = [&](uint64_t tick) {
    return api.convert_tick(agent, tick, &ns) != HSA_STATUS_SUCCESS || ns < now_ns || ns - now_ns > kFarFutureNs;
  };
  uint64_t after = 1;
  while (is_past(after)) {
    if (after >= kLargestTick) return std::nullopt;
    after *= 2;
  }
  for (uint64_t before = after / 2; after - before > 1;) {
    const uint64_t middle = before + (after - before) / 2;
    if (is_past(middle)) before = middle;
    else after = middle;
  }
  // The runtime may have read its clocks meanwhile, so that this moment has become the past.
  for (int step = 0; is_past(after); ++step) {
    if (step == 16) return std::nullopt;
    after += uint64_t{1000} << step;
  }
  const uint64_t ticks_per_second = ns - now_ns > kSoonNs ? 0 : rate_at(api, agent, after);
  if (ticks_per_second == 0) return std::nullopt;
  return FirstPair{after, ns, ticks_per_second};
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
  Fact fact("agent");
  fact.add("gpu", uint32_t{gpu.index})
      .add("name", text_info(api_, agent, HSA_AGENT_INFO_NAME))
      .add("product", text_info(api_, agent, HSA_AMD_AGENT_INFO_PRODUCT_NAME))
      .add("uuid", text_info(api_, agent, HSA_AMD_AGENT_INFO_UUID))
      .add("cu_count", number(HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT))
      .add("clock_mhz", number(HSA_AMD_AGENT_INFO_MAX_CLOCK_FREQUENCY))
      .add("memory_clock_mhz", number(HSA_AMD_AGENT_INFO_MEMORY_MAX_FREQUENCY))
      .add("memory_width_bits", number(HSA_AMD_AGENT_INFO_MEMORY_WIDTH))
      .add("wave_size", number(HSA_AGENT_INFO_WAVEFRONT_SIZE))
      .add("driver_node", number(HSA_AMD_AGENT_INFO_DRIVER_NODE_ID))
      .add("bdf", number(HSA_AMD_AGENT_INFO_BDFID));
  if (const uint64_t bytes = memory_bytes(api_, agent)) fact.add("memory_bytes", bytes);
  facts_.append(fact);
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

void Agents::begin_pairs(Gpu& gpu) {
  const std::lock_guard<std::mutex> lock(mutex_);
  if (gpu.paired_tick != 0) return;
  std::optional<FirstPair> pair;
  auto look = [&] { pair = first_pair(api_, gpu.agent); };
  if (!driver_.ask(look) || !pair) return;
  facts_.append(Fact("clock")
                    .add("gpu", uint32_t{gpu.index})
                    .add("ticks", pair->tick)
                    .add("ns", pair->ns)
                    .add("ticks_per_second", pair->ticks_per_second));
  gpu.paired_tick = pair->tick;
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

void Agents::note_cut_off(const char* what) {
  if (!is_cut_off_) facts_.note(std::string("the program closed the driver's descriptor: ") + what);
  is_cut_off_ = true;
}

void Agents::write_pair(Gpu& gpu, uint64_t tick) {
  if (tick == 0 || tick == gpu.paired_tick) return;
  uint64_t ns = 0;
  hsa_status_t status = HSA_STATUS_ERROR;
  auto convert = [&] { status = api_.convert_tick(gpu.agent, tick, &ns); };
  if (!driver_.ask(convert)) return note_cut_off("clocks are not read and no signals are made any more");
  if (!driver_.is_there()) note_cut_off("no signals are made any more");
  if (status != HSA_STATUS_SUCCESS) return;
  facts_.append(Fact("clock").add("gpu", uint32_t{gpu.index}).add("ticks", tick).add("ns", ns));
  gpu.paired_tick = tick;
  ++gpu.pair_count;
}

}  // namespace wavescope
