// hsa_load QUEUES THREADS DISPATCHES SIGNALS END: dispatches on QUEUES queues of every GPU, from THREADS threads.
// Dispatch i of a thread on a queue has a grid of 64 * (i + 1) work-items. SIGNALS: none (but on the last), each (every
// dispatch one of its own), shared (one counting signal for all of a round), barrier (on a barrier behind each round, as
// HIP does). END: shutdown, exit, quick (_exit), abort, endless (says that it runs, and does until it is killed).
#include "dispatching.h"

enum { MOST_QUEUES = 128, ROUND = 256 };
static hsa_queue_t* queues[MOST_QUEUES];
static int queue_count, thread_count, dispatch_count, endless;
static char signals;
static hsa_signal_t no_signal;

static void one_round(hsa_queue_t* queue, int first, int count, hsa_signal_t last, hsa_signal_t* each) {
  hsa_signal_store_relaxed(last, signals == 's' ? count : 1);
  for (int i = 0; i < count; i++) {
    hsa_signal_t completion = (i == count - 1 && signals != 'b') || signals == 's' ? last : no_signal;
    if (signals == 'e' && i != count - 1) hsa_signal_store_relaxed(completion = each[i], 1);
    dispatch(queue, 64 * (uint32_t)(first + i + 1), completion);
  }
  if (signals == 'b') barrier(queue, last);
  wait_below(last, 1);
}

static void* work(void* argument) {
  const int self = (int)(long)argument;
  hsa_signal_t last = new_signal(1), each[ROUND];
  for (int i = 0; i < ROUND; i++) each[i] = new_signal(1);
  do {
    for (int first = 0; first < dispatch_count; first += ROUND) {
      const int count = dispatch_count - first < ROUND ? dispatch_count - first : ROUND;
      for (int q = 0; q < queue_count; q++) {
        if (thread_count > queue_count || q % thread_count == self) one_round(queues[q], first, count, last, each);
      }
    }
  } while (endless);
  for (int i = 0; i < ROUND; i++) hsa_signal_destroy(each[i]);
  hsa_signal_destroy(last);
  return NULL;
}

int main(int count, char** arguments) {
  if (count != 6) return 2;
  const int queues_each = atoi(arguments[1]);
  thread_count = atoi(arguments[2]);
  dispatch_count = atoi(arguments[3]);
  signals = arguments[4][0];
  endless = arguments[5][0] == 'e' && arguments[5][1] == 'n';
  begin();
  for (int i = 0; i < gpu_count * queues_each; i++) queues[queue_count++] = new_queue(i % gpu_count, 1024);
  if (endless) {
    puts("running");
    fflush(stdout);
  }
  pthread_t threads[64];
  for (long i = 0; i < thread_count; i++) pthread_create(&threads[i], NULL, work, (void*)i);
  for (int i = 0; i < thread_count; i++) pthread_join(threads[i], NULL);
  printf("%lu\n", (unsigned long)kernel_code);
  fflush(stdout);
  if (arguments[5][0] == 'q') _exit(0);
  if (arguments[5][0] == 'a') abort();
  if (arguments[5][0] == 's') {
    for (int i = 0; i < queue_count; i++) MUST(hsa_queue_destroy(queues[i]));
    MUST(hsa_shut_down());
  }
  return 0;
}
