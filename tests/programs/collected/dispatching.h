// What the raw HSA programs here share: the GPUs, queues, packets, waiting. Kernels need no code: the software GPU takes a
// dispatch of an unknown kernel object as work of its usual length.
#ifndef DISPATCHING_H
#define DISPATCHING_H

#define _GNU_SOURCE
#include <hsa/hsa.h>
#include <hsa/hsa_ext_amd.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define MUST(call)                                                             \
  do {                                                                         \
    hsa_status_t status_ = (call);                                             \
    if (status_ != HSA_STATUS_SUCCESS) {                                       \
      fprintf(stderr, "%s:%d: %s: %#x\n", __FILE__, __LINE__, #call, status_); \
      exit(1);                                                                 \
    }                                                                          \
  } while (0)

enum { MOST_GPUS = 16 };
static hsa_agent_t gpus[MOST_GPUS];
static int gpu_count;
static char kernel_code[256] __attribute__((aligned(64)));

static inline hsa_status_t add_gpu(hsa_agent_t agent, void* unused) {
  (void)unused;
  hsa_device_type_t type;
  MUST(hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type));
  if (type == HSA_DEVICE_TYPE_GPU && gpu_count < MOST_GPUS) gpus[gpu_count++] = agent;
  return HSA_STATUS_SUCCESS;
}

static inline void begin(void) {
  MUST(hsa_init());
  MUST(hsa_iterate_agents(add_gpu, NULL));
}

static inline hsa_queue_t* new_queue(int gpu, uint32_t size) {
  hsa_queue_t* queue;
  MUST(hsa_queue_create(gpus[gpu], size, HSA_QUEUE_TYPE_MULTI, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
  return queue;
}

static inline hsa_signal_t new_signal(hsa_signal_value_t value) {
  hsa_signal_t signal;
  MUST(hsa_signal_create(value, 0, NULL, &signal));
  return signal;
}

// The place of the next packet, once there is room for it.
static inline hsa_kernel_dispatch_packet_t* reserve(hsa_queue_t* queue, uint64_t* index) {
  *index = hsa_queue_add_write_index_relaxed(queue, 1);
  while (*index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) sched_yield();
  hsa_kernel_dispatch_packet_t* packet = (hsa_kernel_dispatch_packet_t*)queue->base_address + (*index & (queue->size - 1));
  memset((char*)packet + 4, 0, sizeof *packet - 4);
  return packet;
}

static inline void announce(hsa_queue_t* queue, hsa_kernel_dispatch_packet_t* packet, uint64_t index, uint32_t type,
                            uint32_t dimensions) {
  const uint32_t header = type << HSA_PACKET_HEADER_TYPE | 1u << HSA_PACKET_HEADER_BARRIER | dimensions << 16;
  __atomic_store_n((uint32_t*)packet, header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static inline void dispatch(hsa_queue_t* queue, uint32_t grid, hsa_signal_t completion) {
  uint64_t index;
  hsa_kernel_dispatch_packet_t* packet = reserve(queue, &index);
  packet->workgroup_size_x = 64;
  packet->workgroup_size_y = packet->workgroup_size_z = 1;
  packet->grid_size_x = grid;
  packet->grid_size_y = packet->grid_size_z = 1;
  packet->kernel_object = (uint64_t)kernel_code;
  packet->completion_signal = completion;
  announce(queue, packet, index, HSA_PACKET_TYPE_KERNEL_DISPATCH, 1);
}

static inline void barrier(hsa_queue_t* queue, hsa_signal_t completion) {
  uint64_t index;
  hsa_kernel_dispatch_packet_t* packet = reserve(queue, &index);
  packet->completion_signal = completion;
  announce(queue, packet, index, HSA_PACKET_TYPE_BARRIER_AND, 0);
}

static inline void wait_below(hsa_signal_t signal, hsa_signal_value_t value) {
  while (hsa_signal_wait_scacquire(signal, HSA_SIGNAL_CONDITION_LT, value, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= value) {
  }
}

#endif
