// The least that a tool can do with a queue: have the runtime intercept it, and pass every packet on.
#include <string>

#include "collector_hsa/hsa_api.h"

namespace {

using namespace wavescope;

HsaApi api;

void pass_on(const void* packets, uint64_t count, uint64_t, void*, hsa_amd_queue_intercept_packet_writer writer) {
  writer(packets, count);
}

hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                    void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t private_bytes,
                    uint32_t group_bytes, hsa_queue_t** queue) {
  const hsa_status_t status =
      api.queue_intercept_create(agent, size, type, callback, data, private_bytes, group_bytes, queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  api.set_profiler_enabled(*queue, 1);
  return api.queue_intercept_register(*queue, pass_on, nullptr);
}

}  // namespace

// The tables differ from version to version: they are taken as the collector takes them.
extern "C" bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*) {
  HsaHooks hooks{};
  std::string reason;
  if (!take_tables(*static_cast<HsaApiTable*>(tables), runtime_exports, api, hooks, reason)) return false;
  *hooks.queue_create = create;
  return true;
}
extern "C" void OnUnload() {}
