// dispatch_scaling THREADS QUEUES BURSTS: THREADS threads submit bursts of dispatches to QUEUES queues over all GPUs, each
// thread to queues of its own; the first bursts, in which a tool makes what it needs, do not count. Prints CPU ns per dispatch of the submitting threads, and how many locks the tool took in them
// per thousand dispatches (0 without lock_count.so).
#define _GNU_SOURCE
#include <dlfcn.h>
#include <hsa/hsa.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP = 4, BURST = 1024, QUEUE = 4096, MOST_QUEUES = 128, MOST_GPUS = 16 };
static char kernel_code[256] __attribute__((aligned(64)));
static hsa_agent_t gpus[MOST_GPUS];
static hsa_queue_t* queues[MOST_QUEUES];
static int gpu_count, queue_count, thread_count;
static long burst_count;
static unsigned long (*locks_taken)(void);

struct Cost {
  pthread_t thread;
  int number;
  double cpu_ns;
  unsigned long dispatches, locks;
};

static hsa_status_t take_gpu(hsa_agent_t agent, void* unused) {
  (void)unused;
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type == HSA_DEVICE_TYPE_GPU && gpu_count < MOST_GPUS) gpus[gpu_count++] = agent;
  return HSA_STATUS_SUCCESS;
}

static double thread_cpu_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void submit_one(hsa_queue_t* queue, hsa_signal_t completion) {
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  hsa_kernel_dispatch_packet_t* packet = (hsa_kernel_dispatch_packet_t*)queue->base_address + (index & (queue->size - 1));
  memset((char*)packet + 4, 0, sizeof *packet - 4);
  packet->workgroup_size_x = 64;
  packet->workgroup_size_y = packet->workgroup_size_z = packet->grid_size_y = packet->grid_size_z = 1;
  packet->grid_size_x = 4096;
  packet->kernel_object = (uint64_t)kernel_code;
  packet->completion_signal = completion;
  const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << HSA_PACKET_HEADER_BARRIER | 1u << 16;
  __atomic_store_n((uint32_t*)packet, header, __ATOMIC_RELEASE);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void* submit(void* argument) {
  struct Cost* cost = argument;
  const hsa_signal_t none = {0};
  hsa_signal_t last;
  if (hsa_signal_create(1, 0, NULL, &last)) return NULL;
  for (long burst = -WARM_UP; burst < burst_count; burst++) {
    for (int at = cost->number; at < queue_count; at += thread_count) {
      hsa_signal_store_relaxed(last, 1);
      const double before = thread_cpu_ns();
      const unsigned long locks = locks_taken ? locks_taken() : 0;
      for (int i = 0; i < BURST; i++) submit_one(queues[at], i == BURST - 1 ? last : none);
      if (burst >= 0) {
        cost->locks += locks_taken ? locks_taken() - locks : 0;
        cost->cpu_ns += thread_cpu_ns() - before;
        cost->dispatches += BURST;
      }
      while (hsa_signal_wait_scacquire(last, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= 1) {
      }
    }
  }
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  thread_count = atoi(arguments[1]);
  queue_count = atoi(arguments[2]);
  burst_count = atol(arguments[3]);
  locks_taken = (unsigned long (*)(void))dlsym(RTLD_DEFAULT, "locks_taken_by_tool");
  if (hsa_init() || hsa_iterate_agents(take_gpu, NULL) || gpu_count == 0 || queue_count > MOST_QUEUES) return 1;
  for (int i = 0; i < queue_count; i++) {
    if (hsa_queue_create(gpus[i % gpu_count], QUEUE, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, UINT32_MAX, UINT32_MAX, &queues[i])) return 1;
  }
  struct Cost* costs = calloc((size_t)thread_count, sizeof *costs);
  for (int i = 0; i < thread_count; i++) {
    costs[i].number = i;
    pthread_create(&costs[i].thread, NULL, submit, &costs[i]);
  }
  double cpu_ns = 0;
  unsigned long dispatches = 0, locks = 0;
  for (int i = 0; i < thread_count; i++) {
    pthread_join(costs[i].thread, NULL);
    cpu_ns += costs[i].cpu_ns;
    dispatches += costs[i].dispatches;
    locks += costs[i].locks;
  }
  printf("%.2f %.3f\n", cpu_ns / (double)dispatches, 1000.0 * (double)locks / (double)dispatches);
  return 0;
}
