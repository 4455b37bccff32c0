// hsa_tree LOG DEPTH SEED: a tree of processes that come and go in every way, drawn from SEED. Those that use the GPU write
// a line `pid dispatches` to LOG when their dispatches are complete. Children are made by fork alone, fork and exec, or
// posix_spawn; processes end by exit, _exit, abort, SIGKILL, SIGTERM, or by becoming another program.
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>

#include "dispatching.h"

extern char** environ;
static const char *self, *log_path;
static unsigned long chance;
static int uses_gpu;

static int drawn(int bound) {
  chance = chance * 6364136223846793005ul + 1442695040888963407ul;
  return (int)((chance >> 33) % (unsigned long)bound);
}

static void use_gpu(void) {
  const int dispatches = 1 + drawn(300);
  uses_gpu = 1;
  begin();
  hsa_queue_t* queue = new_queue(drawn(gpu_count), 1024);
  hsa_signal_t done = new_signal(1);
  for (int i = 0; i < dispatches; i++) dispatch(queue, 64, (hsa_signal_t){0});
  barrier(queue, done);
  wait_below(done, 1);
  char line[64];
  const int length = snprintf(line, sizeof line, "%d %d\n", getpid(), dispatches);
  const int file = open(log_path, O_WRONLY | O_APPEND | O_CREAT, 0644);
  if (write(file, line, (size_t)length) != length) _exit(9);
  close(file);
}

static void become(int depth) {
  char depth_text[16], seed_text[32];
  snprintf(depth_text, sizeof depth_text, "%d", depth);
  snprintf(seed_text, sizeof seed_text, "%lu", chance);
  execl(self, self, log_path, depth_text, seed_text, (char*)NULL);
  _exit(8);
}

static void end_somehow(void) {
  switch (drawn(7)) {
    case 0: exit(0);
    case 1: _exit(0);
    case 2: abort();
    case 3: raise(SIGKILL); break;
    case 4: raise(SIGTERM); break;
    case 5: execlp("true", "true", (char*)NULL); break;
    default: become(0);
  }
  _exit(7);
}

static void live(int depth);

static void start_child(int depth) {
  const int way = drawn(3);
  drawn(1);
  if (way == 2) {
    char depth_text[16], seed_text[32];
    snprintf(depth_text, sizeof depth_text, "%d", depth);
    snprintf(seed_text, sizeof seed_text, "%lu", chance);
    char* const arguments[] = {(char*)self, (char*)log_path, depth_text, seed_text, NULL};
    pid_t child;
    if (posix_spawn(&child, self, NULL, NULL, arguments, environ) != 0) _exit(6);
    return;
  }
  const pid_t child = fork();
  if (child != 0) return;
  if (way == 1) become(depth);
  if (uses_gpu) _exit(0);  // a child of fork cannot use the GPUs that its parent opened
  live(depth);
  end_somehow();
}

static void live(int depth) {
  const int first = drawn(2);
  if (first && drawn(3)) use_gpu();
  for (int children = depth > 0 ? 1 + drawn(2) : 0; children > 0; children--) start_child(depth - 1);
  if (!first && drawn(3)) use_gpu();
  while (wait(NULL) > 0) {
  }
}

int main(int count, char** arguments) {
  if (count != 4) return 2;
  self = arguments[0];
  log_path = arguments[1];
  chance = strtoul(arguments[3], NULL, 10);
  const int depth = atoi(arguments[2]);
  live(depth);
  if (depth < 3) end_somehow();
  return 0;
}
