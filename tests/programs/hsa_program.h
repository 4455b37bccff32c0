// What the raw HSA test programs share: agents, pools, packets, checks.
#ifndef WAVESCOPE_TESTS_HSA_PROGRAM_H
#define WAVESCOPE_TESTS_HSA_PROGRAM_H

#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <sched.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define REQUIRE(condition)                                                          \
  do {                                                                              \
    if (!(condition)) {                                                             \
      fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      exit(1);                                                                      \
    }                                                                               \
  } while (0)
#define OK(call) REQUIRE((call) == HSA_STATUS_SUCCESS)

enum { most_gpus = 16 };

static hsa_agent_t cpu_agent, gpu_agents[most_gpus];
static int gpu_count;
static hsa_amd_memory_pool_t host_pool, gpu_pools[most_gpus];

static inline hsa_status_t keep_first_pool(hsa_amd_memory_pool_t pool, void* place) {
  hsa_amd_memory_pool_t* kept = place;
  hsa_amd_segment_t segment;
  bool can_allocate = false;
  OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_SEGMENT, &segment));
  OK(hsa_amd_memory_pool_get_info(pool, HSA_AMD_MEMORY_POOL_INFO_RUNTIME_ALLOC_ALLOWED, &can_allocate));
  if (segment == HSA_AMD_SEGMENT_GLOBAL && can_allocate && !kept->handle) *kept = pool;
  return HSA_STATUS_SUCCESS;
}

static inline hsa_status_t keep_agent(hsa_agent_t agent, void* unused) {
  (void)unused;
  hsa_device_type_t type;
  OK(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_GPU) {
    gpu_agents[gpu_count] = agent;
    OK(hsa_amd_agent_iterate_memory_pools(agent, keep_first_pool, &gpu_pools[gpu_count]));
    ++gpu_count;
  } else {
    cpu_agent = agent;
    OK(hsa_amd_agent_iterate_memory_pools(agent, keep_first_pool, &host_pool));
  }
  return HSA_STATUS_SUCCESS;
}

static inline void start_hsa(void) {
  gpu_count = 0;
  memset(gpu_pools, 0, sizeof gpu_pools);
  OK(hsa_init());
  OK(hsa_iterate_agents(keep_agent, NULL));
  REQUIRE(gpu_count > 0);
}

static inline hsa_signal_t new_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  OK(hsa_signal_create(value, 0, NULL, &signal));
  return signal;
}

static inline hsa_queue_t* new_queue(int gpu, void (*on_error)(hsa_status_t, hsa_queue_t*, void*), void* data) {
  hsa_queue_t* queue;
  OK(hsa_queue_create(gpu_agents[gpu], 1024, HSA_QUEUE_TYPE_MULTI, on_error, data, UINT32_MAX, UINT32_MAX, &queue));
  OK(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  return queue;
}

// How long to wait for what comes for sure: a busy machine is no failure.
enum { patience_s = 120 };

// Whether the signal became 0.
static inline bool becomes_zero(hsa_signal_t signal) {
  uint64_t frequency;
  OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP_FREQUENCY, &frequency));
  return hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, 1, patience_s * frequency, HSA_WAIT_STATE_BLOCKED) == 0;
}

// Write a packet whose first 2 bytes are `type`, and ring the doorbell.
static inline void put_packet(hsa_queue_t* queue, uint8_t type, const void* packet) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) sched_yield();
  char* slot = (char*)queue->base_address + (index & (queue->size - 1)) * 64;
  memcpy(slot + 2, (const char*)packet + 2, 62);
  const uint16_t header = (uint16_t)(type | 1 << HSA_PACKET_HEADER_BARRIER |
                                     HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCACQUIRE_FENCE_SCOPE |
                                     HSA_FENCE_SCOPE_SYSTEM << HSA_PACKET_HEADER_SCRELEASE_FENCE_SCOPE);
  __atomic_store_n((uint16_t*)slot, header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static inline void put_dispatch(hsa_queue_t* queue, hsa_signal_t signal) {
  static char no_kernel[256] __attribute__((aligned(64)));
  hsa_kernel_dispatch_packet_t packet = {0};
  packet.setup = 1;
  packet.workgroup_size_x = 64;
  packet.workgroup_size_y = packet.workgroup_size_z = 1;
  packet.grid_size_x = 4096;
  packet.grid_size_y = packet.grid_size_z = 1;
  packet.kernel_object = (uint64_t)no_kernel;
  packet.completion_signal = signal;
  put_packet(queue, HSA_PACKET_TYPE_KERNEL_DISPATCH, &packet);
}

#endif
