// Copies on the first GPU: host to device, device to device, device to host, COUNT times each, with one signal used again
// and with fresh ones. Arguments: COUNT, or `endless` (says that it runs, and does until it is killed); `refused` asks for
// copies that the runtime refuses as well. Copy i is of 4096 * (i + 1) bytes.
#include "dispatching.h"

static hsa_agent_t host;
static hsa_amd_memory_pool_t host_pool, device_pool;

static hsa_status_t add_host(hsa_agent_t agent, void* unused) {
  (void)unused;
  hsa_device_type_t type;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_CPU) host = agent;
  return HSA_STATUS_SUCCESS;
}

static hsa_status_t take_pool(hsa_amd_memory_pool_t pool, void* chosen) {
  hsa_amd_segment_t segment;
  bool allowed = false;
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  MUST(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &allowed));
  if (segment == HSA_AMD_SEGMENT_GLOBAL && allowed) *(hsa_amd_memory_pool_t*)chosen = pool;
  return HSA_STATUS_SUCCESS;
}

static void* allocate(hsa_amd_memory_pool_t pool, size_t bytes) {
  void* memory;
  MUST(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
  MUST(hsa_amd_agents_allow_access(1, &gpus[0], NULL, memory));
  return memory;
}

int main(int count, char** arguments) {
  const int endless = count > 1 && arguments[1][0] == 'e';
  const int copies = count > 1 && !endless ? atoi(arguments[1]) : 10;
  const int refused = count > 2;
  begin();
  MUST(hsa_iterate_agents(add_host, NULL));
  MUST(hsa_amd_agent_iterate_memory_pools(host, take_pool, &host_pool));
  MUST(hsa_amd_agent_iterate_memory_pools(gpus[0], take_pool, &device_pool));
  const size_t most = 4096 * (size_t)copies;
  char* from = allocate(host_pool, most);
  char* to = allocate(host_pool, most);
  char* first = allocate(device_pool, most);
  char* second = allocate(device_pool, most);
  hsa_signal_t again = new_signal(1);
  int wrong = 0;
  if (endless) {
    puts("running");
    fflush(stdout);
  }
  for (int i = 0; i < copies; i = endless ? (i + 1) % copies : i + 1) {
    const size_t bytes = 4096 * (size_t)(i + 1);
    memset(from, i + 1, bytes);
    hsa_signal_t between = new_signal(1), counting = new_signal(3);
    hsa_signal_store_relaxed(again, 1);
    wrong += refused && hsa_amd_memory_async_copy(NULL, gpus[0], from, host, bytes, 0, NULL, between) == HSA_STATUS_SUCCESS;
    wrong += refused && hsa_amd_memory_async_copy(NULL, gpus[0], from, host, bytes, 0, NULL, again) == HSA_STATUS_SUCCESS;
    MUST(hsa_amd_memory_async_copy(first, gpus[0], from, host, bytes, 0, NULL, between));
    MUST(hsa_amd_memory_async_copy(second, gpus[0], first, gpus[0], bytes, 1, &between, again));
    MUST(hsa_amd_memory_async_copy(to, host, second, gpus[0], bytes, 1, &again, counting));
    wait_below(counting, 3);
    wrong += memcmp(from, to, bytes) != 0;
    MUST(hsa_signal_destroy(between));
    MUST(hsa_signal_destroy(counting));
  }
  printf("%d wrong\n", wrong);
  return wrong != 0;
}
