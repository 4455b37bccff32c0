// Dispatches, forks children that exit, exec or _exit, and dispatches again; ends without shutting HSA down.
#include <sys/wait.h>

#include "dispatching.h"

static void burst(hsa_queue_t* queue, hsa_signal_t last, int count) {
  hsa_signal_store_relaxed(last, 1);
  for (int i = 0; i < count; i++) dispatch(queue, 64, i == count - 1 ? last : (hsa_signal_t){0});
  wait_below(last, 1);
}

int main(void) {
  begin();
  hsa_queue_t* queue = new_queue(0, 1024);
  hsa_signal_t last = new_signal(1);
  int failures = 0;
  burst(queue, last, 1500);
  for (int i = 0; i < 6; i++) {
    const pid_t child = fork();
    if (child == 0) {
      if (i % 3 == 0) exit(0);
      if (i % 3 == 1) _exit(0);
      execl("/bin/true", "true", (char*)NULL);
      _exit(1);
    }
    int status = 0;
    waitpid(child, &status, 0);
    failures += status != 0;
  }
  burst(queue, last, 1500);
  printf("%d failures\n", failures);
  return failures != 0;
}
