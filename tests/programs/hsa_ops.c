// Raw HSA, one subject per run: hsa_ops SUBJECT [NUMBER]. Prints what the runtime reports; exits 0 when it holds.
#define _GNU_SOURCE
#include <pthread.h>
#include <unistd.h>

#include "hsa_program.h"

static int number;

static void agents(void) {
  for (int gpu = 0; gpu < gpu_count; ++gpu) {
    char name[64], product[64];
    uint32_t units;
    OK(hsa_agent_get_info(gpu_agents[gpu], HSA_AGENT_INFO_NAME, name));
    OK(hsa_agent_get_info(gpu_agents[gpu], (hsa_agent_info_t)HSA_AMD_AGENT_INFO_PRODUCT_NAME, product));
    OK(hsa_agent_get_info(gpu_agents[gpu], (hsa_agent_info_t)HSA_AMD_AGENT_INFO_COMPUTE_UNIT_COUNT, &units));
    printf("%s,%s,%u\n", name, product, units);
  }
}

// NUMBER dispatches on each GPU with a signal each: gpu, signal, start, end as the runtime converts them.
static void dispatches(void) {
  for (int gpu = 0; gpu < gpu_count; ++gpu) {
    hsa_queue_t* queue = new_queue(gpu, NULL, NULL);
    hsa_signal_t* signals = calloc((size_t)number, sizeof *signals);
    for (int index = 0; index < number; ++index) {
      signals[index] = new_signal(1);
      put_dispatch(queue, signals[index]);
    }
    for (int index = 0; index < number; ++index) {
      hsa_amd_profiling_dispatch_time_t time;
      REQUIRE(becomes_zero(signals[index]));
      OK(hsa_amd_profiling_get_dispatch_time(gpu_agents[gpu], signals[index], &time));
      printf("%d,%lu,%lu,%lu\n", gpu, (unsigned long)signals[index].handle, (unsigned long)time.start,
             (unsigned long)time.end);
    }
    for (int index = 0; index < number; ++index) OK(hsa_signal_destroy(signals[index]));
    free(signals);
    OK(hsa_queue_destroy(queue));
  }
}

static void barriers(void) {
  hsa_queue_t* queue = new_queue(0, NULL, NULL);
  hsa_queue_t* other = new_queue(gpu_count - 1, NULL, NULL);
  const hsa_signal_t gate = new_signal(1), dispatched = new_signal(1), any = new_signal(1), last = new_signal(1);
  hsa_barrier_and_packet_t wait_for_gate = {0};
  wait_for_gate.dep_signal[3] = gate;
  put_packet(queue, HSA_PACKET_TYPE_BARRIER_AND, &wait_for_gate);
  put_dispatch(queue, dispatched);
  hsa_barrier_or_packet_t wait_for_any = {0};
  wait_for_any.dep_signal[0] = gate;
  wait_for_any.dep_signal[4] = dispatched;
  wait_for_any.completion_signal = any;
  put_packet(other, HSA_PACKET_TYPE_BARRIER_OR, &wait_for_any);
  hsa_amd_barrier_value_packet_t wait_for_value = {0};
  wait_for_value.header.AmdFormat = HSA_AMD_PACKET_TYPE_BARRIER_VALUE;
  wait_for_value.signal = gate;
  wait_for_value.value = 7;
  wait_for_value.mask = -1;
  wait_for_value.cond = HSA_SIGNAL_CONDITION_EQ;
  wait_for_value.completion_signal = last;
  put_packet(other, HSA_PACKET_TYPE_VENDOR_SPECIFIC, &wait_for_value);
  usleep(20000);
  REQUIRE(hsa_signal_load_scacquire(dispatched) == 1 && hsa_signal_load_scacquire(any) == 1);
  hsa_signal_store_screlease(gate, 0);
  REQUIRE(becomes_zero(any) && becomes_zero(dispatched));
  REQUIRE(hsa_signal_load_scacquire(last) == 1);
  hsa_signal_store_screlease(gate, 7);
  REQUIRE(becomes_zero(last));
  OK(hsa_queue_destroy(queue));
  OK(hsa_queue_destroy(other));
}

static bool note(hsa_signal_value_t value, void* noted) {
  __atomic_store_n((hsa_signal_value_t*)noted, value, __ATOMIC_RELEASE);
  return false;
}

static void handlers(void) {
  hsa_queue_t* queue = new_queue(0, NULL, NULL);
  const hsa_signal_t signal = new_signal(1);
  hsa_signal_value_t seen = -1;
  OK(hsa_amd_signal_async_handler(signal, HSA_SIGNAL_CONDITION_LT, 1, note, &seen));
  put_dispatch(queue, signal);
  for (int tries = 0; tries < patience_s * 1000 && __atomic_load_n(&seen, __ATOMIC_ACQUIRE) != 0; ++tries) usleep(1000);
  REQUIRE(__atomic_load_n(&seen, __ATOMIC_ACQUIRE) == 0);
  OK(hsa_queue_destroy(queue));
}

static char* allocated(hsa_amd_memory_pool_t pool, size_t bytes) {
  void* memory;
  OK(hsa_amd_memory_pool_allocate(pool, bytes, 0, &memory));
  OK(hsa_amd_agents_allow_access((uint32_t)gpu_count, gpu_agents, NULL, memory));
  return memory;
}

static void copy(void* to, hsa_agent_t to_agent, const void* from, hsa_agent_t from_agent, size_t bytes) {
  const hsa_signal_t done = new_signal(1);
  OK(hsa_amd_memory_async_copy(to, to_agent, from, from_agent, bytes, 0, NULL, done));
  REQUIRE(becomes_zero(done));
  hsa_amd_profiling_async_copy_time_t time;
  OK(hsa_amd_profiling_get_async_copy_time(done, &time));
  printf("%zu,%lu,%lu,%lu\n", bytes, (unsigned long)done.handle, (unsigned long)time.start, (unsigned long)time.end);
}

// Through all GPUs in turn and back: bytes, signal, start, end of each copy.
static void copies(void) {
  const size_t bytes = ((size_t)5 << 20) + 13;
  OK(hsa_amd_profiling_async_copy_enable(true));
  char* first = allocated(host_pool, bytes);
  char* last = allocated(host_pool, bytes);
  for (size_t index = 0; index < bytes; ++index) first[index] = (char)(index * 7 + index / 5000);
  const char* from = first;
  hsa_agent_t from_agent = cpu_agent;
  for (int gpu = 0; gpu < gpu_count; ++gpu) {
    char* on_gpu = allocated(gpu_pools[gpu], bytes);
    char* again = allocated(gpu_pools[gpu], bytes);
    copy(on_gpu, gpu_agents[gpu], from, from_agent, bytes);
    copy(again, gpu_agents[gpu], on_gpu, gpu_agents[gpu], bytes);
    from = again;
    from_agent = gpu_agents[gpu];
  }
  copy(last, cpu_agent, from, from_agent, bytes);
  REQUIRE(memcmp(first, last, bytes) == 0);
}

static void shaders(void) {
  const size_t bytes = ((size_t)1 << 20) + 7;
  char* host = allocated(host_pool, bytes);
  char* result = allocated(host_pool, bytes + 1);
  char* on_gpu = allocated(gpu_pools[0], bytes);
  for (size_t index = 0; index < bytes; ++index) host[index] = (char)(index * 3);
  OK(hsa_memory_copy(on_gpu, host, bytes));
  OK(hsa_memory_copy(result + 1, on_gpu, bytes));
  REQUIRE(memcmp(host, result + 1, bytes) == 0);
  OK(hsa_amd_memory_fill(on_gpu, 0x12345678, bytes / 4));
  OK(hsa_memory_copy(result, on_gpu, bytes));
  const uint32_t* words = (const uint32_t*)result;
  REQUIRE(words[0] == 0x12345678 && words[bytes / 4 - 1] == 0x12345678);
  REQUIRE(result[bytes - 1] == host[bytes - 1]);
}

static void on_error(hsa_status_t status, hsa_queue_t* queue, void* seen) {
  (void)queue;
  __atomic_store_n((int*)seen, (int)status, __ATOMIC_RELEASE);
}

static void print_error(int* seen) {
  for (int tries = 0; tries < patience_s * 1000 && !__atomic_load_n(seen, __ATOMIC_ACQUIRE); ++tries) usleep(1000);
  printf("%#x\n", __atomic_load_n(seen, __ATOMIC_ACQUIRE));
}

static void bad_packet(void) {
  int seen = 0;
  hsa_queue_t* queue = new_queue(0, on_error, &seen);
  hsa_barrier_and_packet_t packet = {0};
  put_packet(queue, 77, &packet);
  print_error(&seen);
  OK(hsa_queue_destroy(queue));
}

// One dispatch under a fault that stops the queue.
static void failing(void) {
  int seen = 0;
  hsa_queue_t* queue = new_queue(0, on_error, &seen);
  const hsa_signal_t signal = new_signal(1);
  put_dispatch(queue, signal);
  print_error(&seen);
  REQUIRE(hsa_signal_load_scacquire(signal) == 1);
  OK(hsa_queue_destroy(queue));
}

static void endless(void) {
  hsa_queue_t* queue = new_queue(0, NULL, NULL);
  const hsa_signal_t signal = new_signal(1);
  put_dispatch(queue, signal);
  usleep(100000);
  REQUIRE(hsa_signal_load_scacquire(signal) == 1);
  OK(hsa_queue_destroy(queue));
}

// How long after the end of a kernel a thread that sleeps was woken, in microseconds: the longest of up to 20 kernels, until
// it is NUMBER or more. A thread that is held up and not asleep when its kernel ends sees it without an interrupt.
static void interrupt(void) {
  hsa_queue_t* queue = new_queue(0, NULL, NULL);
  long longest = 0;
  for (int tries = 0; tries < 20 && longest < number; ++tries) {
    const hsa_signal_t signal = new_signal(1);
    put_dispatch(queue, signal);
    REQUIRE(becomes_zero(signal));
    hsa_amd_profiling_dispatch_time_t time;
    uint64_t now;
    OK(hsa_system_get_info(HSA_SYSTEM_INFO_TIMESTAMP, &now));
    OK(hsa_amd_profiling_get_dispatch_time(gpu_agents[0], signal, &time));
    const long later = (long)(now - time.end) / 1000;
    if (later > longest) longest = later;
    OK(hsa_signal_destroy(signal));
  }
  printf("%ld\n", longest);
  OK(hsa_queue_destroy(queue));
}

// Behind a kernel that never ends nothing of its queue ends either; 100 kernels of another queue do.
static void beside(void) {
  hsa_queue_t* stuck = new_queue(0, NULL, NULL);
  hsa_queue_t* other = new_queue(0, NULL, NULL);
  const hsa_signal_t never = new_signal(2), done = new_signal(100);
  put_dispatch(stuck, never);
  put_dispatch(stuck, never);
  while (hsa_queue_load_read_index_scacquire(stuck) == 0) usleep(1000);  // the fault is for the first kernel
  for (int index = 0; index < 100; ++index) put_dispatch(other, done);
  REQUIRE(becomes_zero(done));
  REQUIRE(hsa_signal_load_scacquire(never) == 2);
  OK(hsa_queue_destroy(stuck));
  OK(hsa_queue_destroy(other));
}

static void many_queues(void) {
  hsa_queue_t* queues[100];
  const hsa_signal_t done = new_signal(100);
  for (int index = 0; index < 100; ++index) {
    queues[index] = new_queue(index % gpu_count, NULL, NULL);
    put_dispatch(queues[index], done);
  }
  REQUIRE(becomes_zero(done));
  for (int index = 0; index < 100; ++index) OK(hsa_queue_destroy(queues[index]));
}

struct production {
  hsa_queue_t* queue;
  hsa_signal_t done;
};

static void* produce(void* argument) {
  const struct production* production = argument;
  for (int index = 0; index < number; ++index) put_dispatch(production->queue, production->done);
  return NULL;
}

static void producers(void) {
  pthread_t threads[4];
  struct production production = {new_queue(0, NULL, NULL), new_signal(4 * number)};
  for (int index = 0; index < 4; ++index) pthread_create(&threads[index], NULL, produce, &production);
  for (int index = 0; index < 4; ++index) pthread_join(threads[index], NULL);
  REQUIRE(becomes_zero(production.done));
  OK(hsa_queue_destroy(production.queue));
}

static void restarts(void) {
  for (int index = 0; index < 10; ++index) {
    OK(hsa_shut_down());
    start_hsa();
    hsa_queue_t* queue = new_queue(0, NULL, NULL);
    const hsa_signal_t signal = new_signal(1);
    put_dispatch(queue, signal);
    REQUIRE(becomes_zero(signal));
    OK(hsa_queue_destroy(queue));
  }
}

// A packet without a doorbell: 1 when it was executed all the same within NUMBER milliseconds.
static void doorbell(void) {
  hsa_queue_t* queue = new_queue(0, NULL, NULL);
  const hsa_signal_t signal = new_signal(1);
  hsa_barrier_and_packet_t packet = {0};
  packet.completion_signal = signal;
  const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
  char* slot = (char*)queue->base_address + index * 64;
  memcpy(slot + 2, (char*)&packet + 2, 62);
  __atomic_store_n((uint16_t*)slot, HSA_PACKET_TYPE_BARRIER_AND, __ATOMIC_RELEASE);
  for (int tries = 0; tries < number && hsa_signal_load_scacquire(signal) != 0; ++tries) usleep(1000);
  printf("%d\n", hsa_signal_load_scacquire(signal) == 0);
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
  REQUIRE(becomes_zero(signal));
  OK(hsa_queue_destroy(queue));
}

static const struct {
  const char* name;
  void (*run)(void);
} subjects[] = {
    {"agents", agents},       {"dispatches", dispatches}, {"barriers", barriers},   {"handlers", handlers},
    {"copies", copies},       {"shaders", shaders},       {"bad_packet", bad_packet}, {"failing", failing},
    {"endless", endless},     {"interrupt", interrupt},   {"many_queues", many_queues}, {"producers", producers},
    {"restarts", restarts},   {"doorbell", doorbell},     {"beside", beside},
};

int main(int argc, char** argv) {
  REQUIRE(argc > 1);
  number = argc > 2 ? atoi(argv[2]) : 100;
  for (size_t index = 0; index < sizeof subjects / sizeof *subjects; ++index) {
    if (strcmp(subjects[index].name, argv[1]) != 0) continue;
    start_hsa();
    subjects[index].run();
    OK(hsa_shut_down());
    return 0;
  }
  fprintf(stderr, "there is no subject %s\n", argv[1]);
  return 2;
}
