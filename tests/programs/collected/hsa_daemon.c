// hsa_daemon PIDFILE GO: becomes a daemon, as daemons do: two forks, a session of its own, no descriptors, the root as its
// folder, no umask. The daemon writes its process id to PIDFILE, waits until GO is there, dispatches 100 kernels and ends.
#include <fcntl.h>
#include <sys/stat.h>

#include "dispatching.h"

static void become_daemon(void) {
  if (fork() != 0) _exit(0);
  setsid();
  if (fork() != 0) _exit(0);
  for (int number = 0; number < 1024; number++) close(number);
  if (open("/dev/null", O_RDWR) != 0 || dup(0) != 1 || dup(0) != 2 || chdir("/") != 0) _exit(1);
  umask(0);
}

static void say_pid(const char* path) {
  char draft[4096];
  snprintf(draft, sizeof draft, "%s.draft", path);
  FILE* file = fopen(draft, "w");
  fprintf(file, "%d", getpid());
  fclose(file);
  rename(draft, path);
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  become_daemon();
  say_pid(arguments[1]);
  while (access(arguments[2], F_OK) != 0) usleep(10000);
  begin();
  hsa_queue_t* queue = new_queue(0, 1024);
  hsa_signal_t done = new_signal(1);
  for (int i = 0; i < 100; i++) dispatch(queue, 64, (hsa_signal_t){0});
  barrier(queue, done);
  wait_below(done, 1);
  return 0;
}
