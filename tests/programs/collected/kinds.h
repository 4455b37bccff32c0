// What the programs of several kinds share: some dispatches, limits, and words about what they see.
#ifndef KINDS_H
#define KINDS_H

#include <sys/resource.h>

#include "dispatching.h"

static inline void require(int holds, const char* what) {
  if (holds) return;
  perror(what);
  _exit(99);
}

static inline void work_on(hsa_queue_t* queue, int dispatches) {
  hsa_signal_t done = new_signal(1);
  for (int i = 0; i < dispatches; i++) dispatch(queue, 64, (hsa_signal_t){0});
  barrier(queue, done);
  wait_below(done, 1);
  hsa_signal_destroy(done);
}

static inline void work(int dispatches) {
  static hsa_queue_t* queue;
  if (queue == NULL) {
    begin();
    queue = new_queue(0, 1024);
  }
  work_on(queue, dispatches);
}

static inline void say(const char* what, long value) {
  printf("%s %ld\n", what, value);
  fflush(stdout);
}

static inline void limit_to(int resource, rlim_t most) {
  const struct rlimit limit = {most, most};
  require(setrlimit(resource, &limit) == 0, "setrlimit");
}

static inline unsigned long address_space(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  require(file != NULL && fscanf(file, "%lu", &pages) == 1, "statm");
  fclose(file);
  return pages * 4096;
}

#endif
