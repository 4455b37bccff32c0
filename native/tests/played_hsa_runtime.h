// A runtime that a test plays: the tables of HSA's functions, one GPU, and queues and signals that do what the test says.
#pragma once

#include <chrono>
#include <cstring>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "collector_hsa/hsa_abi.h"
#include "collector_hsa/hsa_api.h"
#include "core/session.h"
#include "format/chunk_format.h"
#include "tests/check.h"
#include "tests/file_content.h"

using namespace wavescope;

namespace {

using Packet = hsa_kernel_dispatch_packet_t;

std::string folder;
HsaApiTable root{};
CoreApiTable core{};
// With the functions behind those that are declared, and two more in the newer layout.
struct Extension {
  AmdExtTable table;
  void* more[17];
} extension{};

hsa_queue_t application_queue{};
uint64_t write_index = 0;  // of the application's queue
hsa_amd_queue_intercept_handler handler = nullptr;
void* handler_data = nullptr;
std::vector<Packet> submitted;
bool keeps_memory = false;
constexpr hsa_agent_t kGpu{77};

hsa_status_t iterate_agents(hsa_status_t (*callback)(hsa_agent_t, void*), void* data) { return callback(kGpu, data); }
hsa_status_t agent_get_info(hsa_agent_t, hsa_agent_info_t attribute, void* value) {
  if (attribute == HSA_AGENT_INFO_DEVICE) *static_cast<hsa_device_type_t*>(value) = HSA_DEVICE_TYPE_GPU;
  else if (attribute == HSA_AGENT_INFO_NAME) std::strcpy(static_cast<char*>(value), "gfx90a");
  else return HSA_STATUS_ERROR;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t system_get_info(hsa_system_info_t, void*) { return HSA_STATUS_ERROR_INVALID_ARGUMENT; }
hsa_status_t intercept_create(hsa_agent_t, uint32_t size, hsa_queue_type32_t, void (*)(hsa_status_t, hsa_queue_t*, void*),
                              void*, uint32_t, uint32_t, hsa_queue_t** queue) {
  application_queue.size = size;
  *queue = &application_queue;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t intercept_register(hsa_queue_t*, hsa_amd_queue_intercept_handler callback, void* data) {
  handler = callback;
  handler_data = data;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t signal_create(hsa_signal_value_t value, uint32_t, const hsa_agent_t*, uint64_t, hsa_signal_t* signal) {
  auto* made = new amd_signal_t{};
  made->kind = AMD_SIGNAL_KIND_USER;
  made->value = value;
  signal->handle = reinterpret_cast<uint64_t>(made);
  return HSA_STATUS_SUCCESS;
}
hsa_status_t signal_destroy(hsa_signal_t signal) {
  delete reinterpret_cast<amd_signal_t*>(signal.handle);
  return HSA_STATUS_SUCCESS;
}
// The GPU is to know the memory by another address than the host.
constexpr uint64_t kGpuOffset = uint64_t{1} << 46;
std::vector<void*> locked;
hsa_status_t memory_lock(void* host, size_t, hsa_agent_t*, int count, void** seen_by_gpus) {
  CHECK(count == 1);
  locked.push_back(host);
  *seen_by_gpus = static_cast<char*>(host) + kGpuOffset;
  return HSA_STATUS_SUCCESS;
}
hsa_status_t memory_unlock(void* host) {
  CHECK(!locked.empty() && locked.front() == host);
  locked.erase(locked.begin());
  return HSA_STATUS_SUCCESS;
}
uint64_t load_write_index(const hsa_queue_t*) { return write_index; }
hsa_status_t queue_destroy(hsa_queue_t*) { return HSA_STATUS_SUCCESS; }

// The queue on which the collector tries its signals.
bool completes_kept_signals = true;
alignas(64) Packet tried_packets[256];
hsa_queue_t trial_queue{};
hsa_status_t plain_queue_create(hsa_agent_t, uint32_t size, hsa_queue_type32_t, void (*)(hsa_status_t, hsa_queue_t*, void*),
                                void*, uint32_t, uint32_t, hsa_queue_t** queue) {
  CHECK(size <= 256);
  trial_queue.base_address = tried_packets;
  *queue = &trial_queue;
  return HSA_STATUS_SUCCESS;
}
void store_write_index(const hsa_queue_t* queue, uint64_t index) { CHECK(queue == &trial_queue && index == 1); }
void ring_doorbell(hsa_signal_t, hsa_signal_value_t) {
  CHECK((tried_packets[0].header & 0xff) == HSA_PACKET_TYPE_BARRIER_AND);
  if (!completes_kept_signals) return;
  auto* signal = reinterpret_cast<amd_signal_t*>(tried_packets[0].completion_signal.handle - kGpuOffset);
  __atomic_fetch_sub(&signal->value, 1, __ATOMIC_RELEASE);
}
hsa_status_t set_profiler_enabled(hsa_queue_t*, int) { return HSA_STATUS_SUCCESS; }
hsa_status_t async_copy_enable(bool) { return HSA_STATUS_SUCCESS; }
hsa_status_t convert_tick(hsa_agent_t, uint64_t tick, uint64_t* ns) {
  *ns = tick * 10;
  return HSA_STATUS_SUCCESS;
}

inline void make_tables() {
  root = HsaApiTable{};
  core = CoreApiTable{};
  extension = Extension{};
  root.version = ApiTableVersion{1, sizeof root, 0, 0};
  root.core_ = &core;
  root.amd_ext_ = &extension.table;
  core.version = ApiTableVersion{1, sizeof core, 0, 0};
  core.hsa_iterate_agents_fn = iterate_agents;
  core.hsa_agent_get_info_fn = agent_get_info;
  core.hsa_system_get_info_fn = system_get_info;
  core.hsa_queue_destroy_fn = queue_destroy;
  core.hsa_queue_load_write_index_scacquire_fn = load_write_index;
  core.hsa_signal_destroy_fn = signal_destroy;
  extension.table.version = ApiTableVersion{1, sizeof(AmdExtTable), 0, 0};
  extension.table.hsa_amd_profiling_set_profiler_enabled_fn = set_profiler_enabled;
  extension.table.hsa_amd_profiling_async_copy_enable_fn = async_copy_enable;
  extension.table.hsa_amd_profiling_convert_tick_to_system_domain_fn = convert_tick;
  extension.table.hsa_amd_signal_create_fn = signal_create;
  if (keeps_memory) {
    core.hsa_queue_create_fn = plain_queue_create;
    core.hsa_queue_store_write_index_screlease_fn = store_write_index;
    core.hsa_signal_store_screlease_fn = ring_doorbell;
    extension.table.hsa_amd_memory_lock_fn = memory_lock;
    extension.table.hsa_amd_memory_unlock_fn = memory_unlock;
  }
  extension.table.hsa_amd_queue_intercept_create_fn = intercept_create;
  extension.table.hsa_amd_queue_intercept_register_fn = intercept_register;
}

inline Packet a_dispatch(uint32_t grid, hsa_signal_t completion = {0}) {
  Packet packet{};
  packet.header = HSA_PACKET_TYPE_KERNEL_DISPATCH;
  packet.grid_size_x = grid;
  packet.completion_signal = completion;
  packet.kernel_object = 0x4000;
  return packet;
}

// What the GPU does at the end of a dispatch.
inline void complete(const Packet& packet, uint64_t start, uint64_t end) {
  auto* signal = reinterpret_cast<amd_signal_t*>(packet.completion_signal.handle);
  __atomic_store_n(&signal->start_ts, start, __ATOMIC_RELAXED);
  __atomic_store_n(&signal->end_ts, end, __ATOMIC_RELAXED);
  __atomic_fetch_sub(&signal->value, 1, __ATOMIC_RELEASE);
}

inline void wait_until(const std::function<bool()>& done) {
  const auto patience = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  while (!done()) {
    CHECK(std::chrono::steady_clock::now() < patience);
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
}

// Dispatches in flight, as another process finds them.
inline std::vector<WavescopePendingBlock> pending_blocks() {
  const std::string path = "/dev/shm/wavescope-" + Session::if_open()->name() + ".pending";
  const std::string content = content_of(path);
  std::vector<WavescopePendingBlock> blocks;
  for (std::size_t at = WAVESCOPE_PAGE_BYTES; at + sizeof(WavescopePendingBlock) <= content.size();
       at += sizeof(WavescopePendingBlock)) {
    blocks.emplace_back();
    std::memcpy(static_cast<void*>(&blocks.back()), content.data() + at, sizeof(WavescopePendingBlock));
  }
  return blocks;
}

inline WavescopePendingBlock block_in_use() {
  for (const WavescopePendingBlock& block : pending_blocks()) {
    if (block.filled != 0) return block;
  }
  return WavescopePendingBlock{};
}

}  // namespace
