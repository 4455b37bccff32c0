// hsa_flood SIZE DISPATCHES KIND: a queue of SIZE packets gets dispatches faster than the GPU takes them. KIND:
//   none      dispatches without signals
//   each      every dispatch with a signal of its own
//   barriers  seven barriers without signals behind every dispatch
//   once      as many dispatches as the ring has room for, then one doorbell for all of them
//   threads   dispatches of four threads
//   pause     recording is paused by the program after a tenth of the dispatches
//   resume    the same, and goes on after another tenth
//   host      the ring is filled with barriers that wait for a signal which the same thread sets when it is full
//   host-once the same with one doorbell for all of them
// Prints the number of packets once all of them are done.
#include <dlfcn.h>

#include "dispatching.h"

enum { THREADS = 4, MOST_DISPATCHES = 100000 };
static const hsa_signal_t no_signal;
static hsa_queue_t* queue;
static int dispatch_count;
static hsa_signal_t each[MOST_DISPATCHES];

static void* dispatch_some(void* share) {
  for (int i = 0; i < dispatch_count / (int)(long)share; i++) dispatch(queue, 64, no_signal);
  return NULL;
}

static int from_threads(void) {
  pthread_t threads[THREADS];
  for (int i = 0; i < THREADS; i++) pthread_create(&threads[i], NULL, dispatch_some, (void*)(long)THREADS);
  for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
  return dispatch_count / THREADS * THREADS;
}

static int with_signals(void) {
  for (int i = 0; i < dispatch_count; i++) each[i] = new_signal(1);
  for (int i = 0; i < dispatch_count; i++) dispatch(queue, 64, each[i]);
  for (int i = 0; i < dispatch_count; i++) wait_below(each[i], 1);
  return dispatch_count;
}

static int with_barriers(void) {
  for (int i = 0; i < dispatch_count; i++) {
    dispatch(queue, 64, no_signal);
    for (int more = 0; more < 7; more++) barrier(queue, no_signal);
  }
  return 8 * dispatch_count;
}

static void tell_recorder(const char* function) {
  int (*found)(uint64_t) = (int (*)(uint64_t))dlsym(RTLD_DEFAULT, function);
  if (found) found(0);
}

static int paused_by_the_program(int is_resumed) {
  for (int i = 0; i < dispatch_count; i++) {
    if (i == dispatch_count / 10) tell_recorder("roctxProfilerPause");
    if (i == dispatch_count / 5 && is_resumed) tell_recorder("roctxProfilerResume");
    dispatch(queue, 64, no_signal);
  }
  return dispatch_count;
}

// Fills the whole ring, as often as need be, and announces all packets at once.
static int full_rings(int packet_count, hsa_signal_t awaited) {
  for (int put = 0; put < packet_count; put += (int)queue->size) {
    const uint64_t first = hsa_queue_add_write_index_relaxed(queue, queue->size);
    while (hsa_queue_load_read_index_scacquire(queue) < first) sched_yield();
    for (uint64_t i = first; i < first + queue->size; i++) {
      hsa_kernel_dispatch_packet_t* packet = (hsa_kernel_dispatch_packet_t*)queue->base_address + (i & (queue->size - 1));
      memset((char*)packet + 4, 0, sizeof *packet - 4);
      uint32_t header = 1u << HSA_PACKET_HEADER_BARRIER | HSA_PACKET_TYPE_BARRIER_AND << HSA_PACKET_HEADER_TYPE;
      if (awaited.handle) {
        ((hsa_barrier_and_packet_t*)packet)->dep_signal[0] = awaited;
      } else {
        packet->workgroup_size_x = packet->grid_size_x = 64;
        packet->workgroup_size_y = packet->workgroup_size_z = packet->grid_size_y = packet->grid_size_z = 1;
        packet->kernel_object = (uint64_t)kernel_code;
        header = 1u << 16 | 1u << HSA_PACKET_HEADER_BARRIER | HSA_PACKET_TYPE_KERNEL_DISPATCH << HSA_PACKET_HEADER_TYPE;
      }
      __atomic_store_n((uint32_t*)packet, header, __ATOMIC_RELEASE);
    }
    hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)(first + queue->size - 1));
  }
  return packet_count;
}

static int behind_the_host(int is_at_once) {
  const hsa_signal_t gate = new_signal(1);
  if (is_at_once) {
    full_rings((int)queue->size, gate);
  } else {
    for (uint32_t i = 0; i < queue->size; i++) {
      uint64_t index;
      hsa_kernel_dispatch_packet_t* packet = reserve(queue, &index);
      ((hsa_barrier_and_packet_t*)packet)->dep_signal[0] = gate;
      announce(queue, packet, index, HSA_PACKET_TYPE_BARRIER_AND, 0);
    }
  }
  hsa_signal_store_screlease(gate, 0);
  return (int)queue->size;
}

static int put(const char* kind) {
  if (!strcmp(kind, "each")) return with_signals();
  if (!strcmp(kind, "barriers")) return with_barriers();
  if (!strcmp(kind, "once")) return full_rings(dispatch_count, no_signal);
  if (!strcmp(kind, "threads")) return from_threads();
  if (!strcmp(kind, "pause")) return paused_by_the_program(0);
  if (!strcmp(kind, "resume")) return paused_by_the_program(1);
  if (!strcmp(kind, "host")) return behind_the_host(0);
  if (!strcmp(kind, "host-once")) return behind_the_host(1);
  dispatch_some((void*)1L);
  return dispatch_count;
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  dispatch_count = atoi(arguments[2]);
  if (dispatch_count > MOST_DISPATCHES) return 2;
  begin();
  queue = new_queue(0, (uint32_t)atoi(arguments[1]));
  const int packet_count = put(arguments[3]);
  const hsa_signal_t last = new_signal(1);
  barrier(queue, last);
  wait_below(last, 1);
  printf("%d\n", packet_count);
  return 0;
}
