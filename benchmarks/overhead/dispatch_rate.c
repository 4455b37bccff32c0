// dispatch_rate DISPATCHES ROUNDS SIGNALS: submits bursts of dispatches to one queue, as fast as it can, and prints for every round
// dispatches/s, CPU ns per dispatch of the submitting thread, of all threads but the software GPU's, and of all. A burst is shorter
// than the queue, so the submitter never finds it full and its CPU time is the cost of submitting. Threads are looked at
// 200 ms after the round, so that what a tool does later counts. SIGNALS is `last` or `each`: which dispatches of a burst
// carry a completion signal of the program.
#define _GNU_SOURCE
#include <dirent.h>
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BURST = 8192, QUEUE = 16384 };
static char kernel_code[256] __attribute__((aligned(64)));

static hsa_status_t take_gpu(hsa_agent_t agent, void* chosen) {
  hsa_device_type_t type;
  hsa_agent_get_info(agent, HSA_AGENT_INFO_DEVICE, &type);
  if (type != HSA_DEVICE_TYPE_GPU) return HSA_STATUS_SUCCESS;
  *(hsa_agent_t*)chosen = agent;
  return HSA_STATUS_INFO_BREAK;
}

static double seconds(clockid_t clock) {
  struct timespec now;
  clock_gettime(clock, &now);
  return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static double read_first_number(const char* task, const char* file, char* text, size_t size) {
  char path[300];
  snprintf(path, sizeof path, "/proc/self/task/%s/%s", task, file);
  FILE* stream = fopen(path, "r");
  if (!stream || !fgets(text, (int)size, stream)) text[0] = 0;
  if (stream) fclose(stream);
  return strtod(text, NULL);
}

// CPU seconds of all living threads whose name does not start with that of the software GPU's.
static double host_cpu(void) {
  double sum = 0;
  DIR* folder = opendir("/proc/self/task");
  for (struct dirent* entry; (entry = readdir(folder));) {
    char name[64], numbers[128];
    if (entry->d_name[0] == '.') continue;
    read_first_number(entry->d_name, "comm", name, sizeof name);
    if (strncmp(name, "softgpu", 7) != 0) sum += read_first_number(entry->d_name, "schedstat", numbers, sizeof numbers) * 1e-9;
  }
  closedir(folder);
  return sum;
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

int main(int count, char** arguments) {
  const long bursts = (count > 1 ? atol(arguments[1]) : 81920) / BURST;
  const int rounds = count > 2 ? atoi(arguments[2]) : 4;
  const int each = count > 3 && arguments[3][0] == 'e';
  hsa_agent_t gpu = {0};
  hsa_queue_t* queue;
  hsa_signal_t last;
  if (hsa_init() || hsa_iterate_agents(take_gpu, &gpu) != HSA_STATUS_INFO_BREAK ||
      hsa_queue_create(gpu, QUEUE, HSA_QUEUE_TYPE_SINGLE, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue) ||
      hsa_signal_create(1, 0, NULL, &last)) {
    return 1;
  }
  static hsa_signal_t signals[BURST];
  for (int i = 0; each && i < BURST; i++) {
    if (hsa_signal_create(1, 0, NULL, &signals[i])) return 1;
  }
  for (int round = 0; round < rounds; round++) {
    const double host = host_cpu(), process = seconds(CLOCK_PROCESS_CPUTIME_ID), begin = seconds(CLOCK_MONOTONIC);
    double submit = 0;
    for (long burst = 0; burst < bursts; burst++) {
      hsa_signal_store_relaxed(last, 1);
      const double before = seconds(CLOCK_THREAD_CPUTIME_ID);
      for (int i = 0; i < BURST; i++) {
        if (each) hsa_signal_store_relaxed(signals[i], 1);
        submit_one(queue, i == BURST - 1 ? last : signals[i]);
      }
      submit += seconds(CLOCK_THREAD_CPUTIME_ID) - before;
      while (hsa_signal_wait_scacquire(last, HSA_SIGNAL_CONDITION_LT, 1, UINT64_MAX, HSA_WAIT_STATE_BLOCKED) >= 1) {
      }
    }
    const double wall = seconds(CLOCK_MONOTONIC) - begin, dispatches = (double)(bursts * BURST);
    usleep(200000);
    const double process_used = seconds(CLOCK_PROCESS_CPUTIME_ID) - process;
    printf("%.0f %.2f %.2f %.2f\n", dispatches / wall, submit / dispatches * 1e9, (host_cpu() - host) / dispatches * 1e9,
           process_used / dispatches * 1e9);
  }
  hsa_queue_destroy(queue);
  hsa_shut_down();
  return 0;
}
