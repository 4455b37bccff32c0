// Bursts of dispatches through one queue, a signal on the last of each: prints dispatches per second, CPU ns per dispatch
// of the submitting thread and of the whole process.
#define _GNU_SOURCE
#include <time.h>

#include "../../tests/programs/hsa_program.h"

static double seconds(clockid_t clock) {
  struct timespec time;
  clock_gettime(clock, &time);
  return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

int main(void) {
  enum { bursts = 200, burst = 1000 };
  start_hsa();
  hsa_queue_t* queue = new_queue(0, NULL, NULL);
  const hsa_signal_t done = new_signal(1), none = {0};
  const double wall = seconds(CLOCK_MONOTONIC), process = seconds(CLOCK_PROCESS_CPUTIME_ID);
  double submitting = 0;
  for (int round = 0; round < bursts; ++round) {
    hsa_signal_store_relaxed(done, 1);
    const double before = seconds(CLOCK_THREAD_CPUTIME_ID);
    for (int index = 1; index < burst; ++index) put_dispatch(queue, none);
    put_dispatch(queue, done);
    submitting += seconds(CLOCK_THREAD_CPUTIME_ID) - before;
    REQUIRE(becomes_zero(done));
  }
  const double count = (double)bursts * burst;
  printf("%.0f %.0f %.0f\n", count / (seconds(CLOCK_MONOTONIC) - wall), submitting / count * 1e9,
         (seconds(CLOCK_PROCESS_CPUTIME_ID) - process) / count * 1e9);
  OK(hsa_queue_destroy(queue));
  OK(hsa_shut_down());
  return 0;
}
