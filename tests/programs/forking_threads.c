// Four threads that mark and fork, five times each; every child marks eleven times and ends at once.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void (*mark)(const char*);

static void* mark_and_fork(void* unused) {
  for (int round = 0; round < 5; ++round) {
    for (int i = 0; i < 50; ++i) mark("parent");
    const pid_t child = fork();
    if (child == 0) {
      for (int i = 0; i < 11; ++i) mark("child");
      _exit(0);
    }
    int status = 0;
    if (waitpid(child, &status, 0) != child || status != 0) exit(1);
  }
  return unused;
}

int main(void) {
  *(void**)&mark = dlsym(RTLD_DEFAULT, "roctxMarkA");
  if (mark == NULL) return 2;
  pthread_t threads[4];
  for (int i = 0; i < 4; ++i) pthread_create(&threads[i], NULL, mark_and_fork, NULL);
  for (int i = 0; i < 4; ++i) pthread_join(threads[i], NULL);
  return 0;
}
