// The least that a tool can do with a queue: have the runtime intercept it, and pass every packet on.
#include <hsa/hsa.h>
#include <hsa/hsa_api_trace.h>
#include <hsa/hsa_ext_amd.h>

namespace {

AmdExtTable extension;

void pass_on(const void* packets, uint64_t count, uint64_t, void*, hsa_amd_queue_intercept_packet_writer writer) {
  writer(packets, count);
}

hsa_status_t create(hsa_agent_t agent, uint32_t size, hsa_queue_type32_t type,
                    void (*callback)(hsa_status_t, hsa_queue_t*, void*), void* data, uint32_t private_bytes,
                    uint32_t group_bytes, hsa_queue_t** queue) {
  const hsa_status_t status = extension.hsa_amd_queue_intercept_create_fn(agent, size, type, callback, data, private_bytes,
                                                                           group_bytes, queue);
  if (status != HSA_STATUS_SUCCESS) return status;
  extension.hsa_amd_profiling_set_profiler_enabled_fn(*queue, 1);
  return extension.hsa_amd_queue_intercept_register_fn(*queue, pass_on, nullptr);
}

}  // namespace

extern "C" bool OnLoad(void* tables, uint64_t, uint64_t, const char* const*) {
  auto* table = static_cast<HsaApiTable*>(tables);
  extension = *table->amd_ext_;
  table->core_->hsa_queue_create_fn = create;
  return true;
}
extern "C" void OnUnload() {}
