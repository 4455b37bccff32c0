// What an application sees of its own signals: order, times, reuse, destruction, sharing. Prints one line per question; a
// tool must not change any of the answers. Argument: the length of a kernel in ns.
#include "dispatching.h"

enum { MANY = 256 };
static hsa_queue_t* queue;
static uint64_t kernel_ns;

static int is_wrong(hsa_signal_t signal, uint64_t* end) {
  hsa_amd_profiling_dispatch_time_t time = {0, 0};
  MUST(hsa_amd_profiling_get_dispatch_time(gpus[0], signal, &time));
  const uint64_t length = time.end - time.start;
  const int wrong = length + 20 < kernel_ns || length > kernel_ns + 20 || time.start + 20 < *end;
  *end = time.end;
  return wrong;
}

// A barrier completes after all dispatches before it: their signals must be 0 then.
static void order(void) {
  hsa_signal_t each[MANY], behind = new_signal(1);
  int late = 0, wrong = 0;
  for (int i = 0; i < MANY; i++) each[i] = new_signal(1);
  for (int round = 0; round < 4; round++) {
    uint64_t end = 0;
    hsa_signal_store_relaxed(behind, 1);
    for (int i = 0; i < MANY; i++) {
      hsa_signal_store_relaxed(each[i], 1);
      dispatch(queue, 64, each[i]);
    }
    barrier(queue, behind);
    wait_below(behind, 1);
    for (int i = 0; i < MANY; i++) late += hsa_signal_load_scacquire(each[i]) != 0;
    for (int i = 0; i < MANY; i++) wrong += is_wrong(each[i], &end);
  }
  printf("order: %d late, %d wrong times\n", late, wrong);
}

static void reuse(void) {
  hsa_signal_t one = new_signal(1);
  uint64_t end = 0;
  int wrong = 0;
  for (int i = 0; i < 300; i++) {
    hsa_signal_store_relaxed(one, 1);
    dispatch(queue, 64, one);
    wait_below(one, 1);
    wrong += is_wrong(one, &end);
  }
  printf("reuse: %d wrong times\n", wrong);
  for (int i = 0; i < 200; i++) {  // a barrier with the same signal overwrites its times
    hsa_signal_store_relaxed(one, 1);
    dispatch(queue, 64, one);
    wait_below(one, 1);
    hsa_signal_store_relaxed(one, 1);
    barrier(queue, one);
    wait_below(one, 1);
  }
  for (int i = 0; i < 200; i++) {
    hsa_signal_t short_lived = new_signal(1);
    dispatch(queue, 64, short_lived);
    wait_below(short_lived, 1);
    MUST(hsa_signal_destroy(short_lived));
  }
}

static void counting(int with_times) {
  hsa_signal_t shared = new_signal(MANY);
  uint64_t end = 0;
  for (int i = 0; i < MANY; i++) dispatch(queue, 64, shared);
  wait_below(shared, 1);
  printf("counting: value %ld, %d wrong times\n", (long)hsa_signal_load_relaxed(shared), with_times && is_wrong(shared, &end));
}

int main(int count, char** arguments) {
  kernel_ns = count > 1 ? strtoull(arguments[1], NULL, 10) : 2000;
  begin();
  queue = new_queue(0, 4096);
  MUST(hsa_amd_profiling_set_profiler_enabled(queue, 1));
  order();
  reuse();
  counting(1);
  MUST(hsa_amd_profiling_set_profiler_enabled(queue, 0));
  counting(0);
  return 0;
}
