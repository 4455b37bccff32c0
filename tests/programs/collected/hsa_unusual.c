// hsa_unusual WAY: dispatches in a way that HSA allows, or nearly so, and few programs go. WAY is one of
//   doorbell  rings the hardware's doorbell, without a function of the runtime
//   empty     waits for the place of a packet to be empty before it fills it, and never asks how far the GPU has read
//   ahead     fills the places of a batch from the last to the first and rings for the last only
//   refused   a packet of a type that nobody knows, whose refusal the queue's callback is told
//   again     destroys its queue, shuts the runtime down, and does everything once more
// Prints how many dispatches were completed.
#include <hsa/amd_hsa_signal.h>

#include "dispatching.h"

enum { SIZE = 64, DISPATCHES = 200, BATCH = 20 };
static int refusals;

static void refused(hsa_status_t status, hsa_queue_t* queue, void* data) {
  (void)queue;
  (void)data;
  if (status != HSA_STATUS_SUCCESS) __atomic_fetch_add(&refusals, 1, __ATOMIC_RELEASE);
}

static hsa_kernel_dispatch_packet_t* place_of(hsa_queue_t* queue, uint64_t index) {
  return (hsa_kernel_dispatch_packet_t*)queue->base_address + (index & (queue->size - 1));
}

static void fill(hsa_kernel_dispatch_packet_t* packet, uint32_t grid, hsa_signal_t completion) {
  memset((char*)packet + 4, 0, sizeof *packet - 4);
  packet->workgroup_size_x = 64;
  packet->workgroup_size_y = packet->workgroup_size_z = packet->grid_size_y = packet->grid_size_z = 1;
  packet->grid_size_x = grid;
  packet->kernel_object = (uint64_t)kernel_code;
  packet->completion_signal = completion;
  const uint32_t header = HSA_PACKET_TYPE_KERNEL_DISPATCH | 1u << HSA_PACKET_HEADER_BARRIER | 1u << 16;
  __atomic_store_n((uint32_t*)packet, header, __ATOMIC_RELEASE);
}

static void ring_by_itself(hsa_queue_t* queue, uint64_t index) {
  const amd_signal_t* doorbell = (const amd_signal_t*)queue->doorbell_signal.handle;
  __atomic_store_n((uint64_t*)doorbell->hardware_doorbell_ptr, index, __ATOMIC_RELEASE);
}

static void ring(hsa_queue_t* queue, uint64_t index) {
  hsa_signal_store_screlease(queue->doorbell_signal, (hsa_signal_value_t)index);
}

static void wait_until_empty(const hsa_kernel_dispatch_packet_t* packet) {
  while ((__atomic_load_n(&packet->header, __ATOMIC_ACQUIRE) & 0xff) != HSA_PACKET_TYPE_INVALID) sched_yield();
}

static void one_by_one(hsa_queue_t* queue, hsa_signal_t last, int waits_for_empty, void (*doorbell)(hsa_queue_t*, uint64_t)) {
  const hsa_signal_t none = {0};
  for (int i = 0; i < DISPATCHES; i++) {
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    if (waits_for_empty) wait_until_empty(place_of(queue, index));
    else
      while (index - hsa_queue_load_read_index_scacquire(queue) >= queue->size) sched_yield();
    fill(place_of(queue, index), 64 * (uint32_t)(i + 1), i == DISPATCHES - 1 ? last : none);
    doorbell(queue, index);
  }
}

static void in_batches(hsa_queue_t* queue, hsa_signal_t last) {
  const hsa_signal_t none = {0};
  for (int first = 0; first < DISPATCHES; first += BATCH) {
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue, BATCH);
    while (index + BATCH - hsa_queue_load_read_index_scacquire(queue) > queue->size) sched_yield();
    for (int i = BATCH; i-- > 0;) {
      const int number = first + i + 1;
      fill(place_of(queue, index + (uint64_t)i), 64 * (uint32_t)number, number == DISPATCHES ? last : none);
    }
    ring(queue, index + BATCH - 1);
  }
}

static int one_round(char way) {
  gpu_count = 0;
  begin();
  hsa_queue_t* queue;
  MUST(hsa_queue_create(gpus[0], SIZE, HSA_QUEUE_TYPE_MULTI, refused, NULL, UINT32_MAX, UINT32_MAX, &queue));
  const hsa_signal_t last = new_signal(1);
  int completed = DISPATCHES;
  if (way == 'b') in_batches(queue, last);
  else one_by_one(queue, last, way == 'e', way == 'd' ? ring_by_itself : ring);
  wait_below(last, 1);
  if (way == 'r') {
    const uint64_t index = hsa_queue_add_write_index_relaxed(queue, 1);
    memset((char*)place_of(queue, index) + 4, 0, 60);
    __atomic_store_n((uint32_t*)place_of(queue, index), 99, __ATOMIC_RELEASE);
    ring(queue, index);
    while (__atomic_load_n(&refusals, __ATOMIC_ACQUIRE) == 0) sched_yield();
  }
  MUST(hsa_signal_destroy(last));
  MUST(hsa_queue_destroy(queue));
  MUST(hsa_shut_down());
  return completed;
}

int main(int count, char** arguments) {
  if (count != 2) return 2;
  const char way = arguments[1][0] == 'a' && arguments[1][1] == 'h' ? 'b' : arguments[1][0];
  int completed = one_round(way);
  if (way == 'a') completed += one_round(way);
  printf("%d completed, %d refused\n", completed, refusals);
  return 0;
}
