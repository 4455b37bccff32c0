// hsa_cooperative SCENARIO DISPATCHES: dispatches on queues for cooperative launches, of which the runtime has one per GPU.
//   one    create, dispatch, destroy
//   two    two queues at once, destroyed one after the other, with dispatches in between
//   again  create, dispatch, destroy, and all of it once more
//   left   two queues, never destroyed
//   beside an ordinary queue beside the cooperative one
// Each ends by shutting the runtime down.
#include "dispatching.h"

static int dispatch_count;

static hsa_queue_t* new_cooperative_queue(void) {
  hsa_queue_t* queue;
  MUST(hsa_queue_create(gpus[0], 1024, HSA_QUEUE_TYPE_COOPERATIVE, NULL, NULL, UINT32_MAX, UINT32_MAX, &queue));
  return queue;
}

static void work_on(hsa_queue_t* queue) {
  const hsa_signal_t last = new_signal(1);
  for (int i = 0; i < dispatch_count; i++) dispatch(queue, 64 * (uint32_t)(i + 1), (hsa_signal_t){0});
  barrier(queue, last);
  wait_below(last, 1);
  MUST(hsa_signal_destroy(last));
}

static void use_one(void) {
  hsa_queue_t* queue = new_cooperative_queue();
  work_on(queue);
  MUST(hsa_queue_destroy(queue));
}

static void use_two(int are_destroyed) {
  hsa_queue_t *one = new_cooperative_queue(), *other = new_cooperative_queue();
  printf("%s\n", one == other ? "the same queue" : "two queues");
  work_on(one);
  work_on(other);
  if (!are_destroyed) return;
  MUST(hsa_queue_destroy(one));
  work_on(other);
  MUST(hsa_queue_destroy(other));
}

static void use_beside_an_ordinary_one(void) {
  hsa_queue_t* ordinary = new_queue(0, 1024);
  use_one();
  work_on(ordinary);
  MUST(hsa_queue_destroy(ordinary));
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  dispatch_count = atoi(arguments[2]);
  begin();
  if (!strcmp(arguments[1], "one")) use_one();
  else if (!strcmp(arguments[1], "two")) use_two(1);
  else if (!strcmp(arguments[1], "left")) use_two(0);
  else if (!strcmp(arguments[1], "beside")) use_beside_an_ordinary_one();
  else if (!strcmp(arguments[1], "again")) use_one(), use_one();
  else return 2;
  MUST(hsa_shut_down());
  puts("shut down");
  return 0;
}
