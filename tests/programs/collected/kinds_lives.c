// kinds_lives KIND FOLDER: a program that lives and ends as KIND says, with some dispatches on the way. What it prints and how
// it ends is for a tool to leave alone. FOLDER is for files of its own.
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>

#include "kinds.h"

extern char** environ;
static const char *self, *folder;
static volatile sig_atomic_t caught;
static sigjmp_buf after_fault;

static int status_of(pid_t child) {
  int status = -1;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return status;
}

static void become_plain(void) {
  execl(self, self, "plain", folder, (char*)NULL);
  _exit(98);
}

static int plain(void) {
  work(100);
  return 3;
}

static void* work_in_thread(void* unused) {
  work_on(new_queue(0, 1024), 100);
  return unused;
}

static int threads(void) {
  pthread_t each[4];
  begin();
  for (int i = 0; i < 4; i++) pthread_create(&each[i], NULL, work_in_thread, NULL);
  for (int i = 0; i < 4; i++) pthread_join(each[i], NULL);
  return 0;
}

static int forks(void) {
  const pid_t child = fork();
  if (child == 0) exit(plain());
  say("child", status_of(child));
  work(50);
  return 0;
}

static int double_fork(void) {
  int ends[2];
  char byte;
  require(pipe(ends) == 0, "pipe");
  const pid_t child = fork();
  if (child == 0) {
    if (fork() != 0) _exit(0);
    setsid();
    close(ends[0]);
    plain();
    exit(0);  // closes the pipe, on which the first process waits
  }
  close(ends[1]);
  say("child", status_of(child));
  say("bytes", read(ends[0], &byte, 1));
  return 0;
}

static int spawn(void) {
  char* const arguments[] = {(char*)self, "plain", (char*)folder, NULL};
  pid_t child;
  require(posix_spawn(&child, self, NULL, NULL, arguments, environ) == 0, "posix_spawn");
  say("child", status_of(child));
  return 0;
}

static int vfork_exec(void) {
  work(50);
  const pid_t child = vfork();
  if (child == 0) become_plain();
  say("child", status_of(child));
  work(50);
  return 0;
}

static int raw_clone(void) {
  const pid_t child = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (child == 0) _exit(plain());
  say("child", status_of(child));
  work(50);
  const pid_t idle = (pid_t)syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
  if (idle == 0) _exit(4);
  say("idle child", status_of(idle));
  work(50);
  return 0;
}

static int exec_chain(void) {
  work(50);
  become_plain();
  return 1;
}

static int new_session(void) {
  const pid_t child = fork();
  if (child == 0) {
    say("leads", setsid() == getpid());
    exit(plain());
  }
  say("child", status_of(child));
  return 0;
}

static int limit_memory(void) {
  work(100);
  // Any thread that asks for memory for the first time, be it the runtime's or a tool's, gets 128 MiB of addresses.
  limit_to(RLIMIT_AS, address_space() + (512 << 20));
  work(20000);
  say("64 MiB", malloc(64 << 20) != NULL);
  say("1 GiB", malloc(1 << 30) != NULL);
  return 0;
}

static int limit_stack(void) {
  limit_to(RLIMIT_STACK, 256 << 10);
  return threads();
}

static int limit_processes(void) {
  limit_to(RLIMIT_NPROC, 4096);
  return threads();
}

static int limit_descriptors(void) {
  work(100);
  limit_to(RLIMIT_NOFILE, 3);
  say("opened", open("/dev/null", O_RDONLY));
  return 0;
}

static void count_signal(int number) {
  (void)number;
  caught++;
}

static int interrupted(void) {
  signal(SIGINT, count_signal);
  signal(SIGTERM, count_signal);
  work(50);
  raise(SIGINT);
  kill(getpid(), SIGTERM);
  work(50);
  say("caught", caught);
  return 0;
}

static int terminated(void) {
  work(100);
  kill(getpid(), SIGTERM);
  pause();
  return 1;
}

static int profiled(void) {
  const struct itimerval every = {{0, 500}, {0, 500}};
  struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  sigaction(SIGPROF, &action, NULL);
  require(setitimer(ITIMER_PROF, &every, NULL) == 0, "setitimer");
  while (caught < 20) work(1000);
  say("caught", caught >= 20);
  return 0;
}

static int child_signals(void) {
  struct sigaction action = {.sa_handler = count_signal, .sa_flags = SA_RESTART};
  sigaction(SIGCHLD, &action, NULL);
  work(1000);
  const pid_t child = fork();
  if (child == 0) _exit(7);
  say("child", status_of(child));
  say("others", wait(NULL));
  say("caught", caught);
  return 0;
}

static void leave_fault(int number) {
  caught = number;
  siglongjmp(after_fault, 1);
}

static void touch_cut_off_file(void) {
  char path[4096];
  snprintf(path, sizeof path, "%s/cut", folder);
  const int file = open(path, O_RDWR | O_CREAT, 0600);
  require(ftruncate(file, 4096) == 0, path);
  volatile char* page = mmap(NULL, 4096, PROT_WRITE, MAP_SHARED, file, 0);
  require(ftruncate(file, 0) == 0, path);
  *page = 'x';
}

static int own_faults(void) {
  signal(SIGBUS, leave_fault);
  signal(SIGSEGV, leave_fault);
  work(100);
  if (sigsetjmp(after_fault, 1) == 0) touch_cut_off_file();
  say("caught", caught);
  if (sigsetjmp(after_fault, 1) == 0) *(volatile char*)NULL = 'x';
  say("caught", caught);
  return 0;
}

static int bus_error(void) {
  work(100);
  touch_cut_off_file();
  return 1;
}

static int crash(void) {
  work(100);
  *(volatile char*)NULL = 'x';
  return 1;
}

static int ends_by__exit(void) {
  work(100);
  _exit(5);
}

static int ends_by_quick_exit(void) {
  work(100);
  quick_exit(6);
}

static int ends_by_abort(void) {
  work(100);
  abort();
}

static void work_at_exit(void) {
  work(50);
  say("worked", 50);
}

static int works_at_exit(void) {
  work(50);
  atexit(work_at_exit);
  return 0;
}

static void* exit_in_thread(void* unused) {
  work(100);
  exit(4);
  return unused;
}

static int exits_in_thread(void) {
  pthread_t thread;
  pthread_create(&thread, NULL, exit_in_thread, NULL);
  pthread_join(thread, NULL);
  return 1;
}

static hsa_queue_t* small_queue;

// Each waits until there is room for the next, and can be cancelled only at the end.
static void* submit_many(void* submitted) {
  while (*(int*)submitted < 400) {
    dispatch(small_queue, 64, (hsa_signal_t){0});
    ++*(int*)submitted;
  }
  for (;;) pause();
  return NULL;
}

static int cancelled(void) {
  pthread_t thread;
  int submitted = 0;
  void* result = NULL;
  begin();
  small_queue = new_queue(0, 64);
  pthread_create(&thread, NULL, submit_many, &submitted);
  pthread_cancel(thread);
  pthread_join(thread, &result);
  say("was cancelled", result == PTHREAD_CANCELED);
  say("submitted", submitted);
  work_on(small_queue, 50);
  return 0;
}

static volatile int is_dispatching;

static void* dispatch_for_ever(void* unused) {
  hsa_queue_t* queue = new_queue(0, 1024);
  for (;;) {
    work_on(queue, 10);
    is_dispatching = 1;
  }
  return unused;
}

static int exits_while_dispatching(void) {
  pthread_t thread;
  begin();
  pthread_create(&thread, NULL, dispatch_for_ever, NULL);
  while (!is_dispatching) usleep(100);
  return 4;
}

static int restarts(void) {
  for (int i = 0; i < 5; i++) {
    gpu_count = 0;
    begin();
    hsa_queue_t* queue = new_queue(0, 1024);
    work_on(queue, 20);
    MUST(hsa_queue_destroy(queue));
    MUST(hsa_shut_down());
  }
  return 0;
}

static const struct {
  const char* kind;
  int (*live)(void);
} kinds[] = {
    {"plain", plain},
    {"threads", threads},
    {"fork", forks},
    {"double_fork", double_fork},
    {"spawn", spawn},
    {"vfork_exec", vfork_exec},
    {"raw_clone", raw_clone},
    {"exec_chain", exec_chain},
    {"setsid", new_session},
    {"limit_memory", limit_memory},
    {"limit_stack", limit_stack},
    {"limit_processes", limit_processes},
    {"limit_descriptors", limit_descriptors},
    {"interrupted", interrupted},
    {"terminated", terminated},
    {"profiled", profiled},
    {"child_signals", child_signals},
    {"own_faults", own_faults},
    {"bus_error", bus_error},
    {"crash", crash},
    {"_exit", ends_by__exit},
    {"quick_exit", ends_by_quick_exit},
    {"abort", ends_by_abort},
    {"works_at_exit", works_at_exit},
    {"exits_in_thread", exits_in_thread},
    {"cancelled", cancelled},
    {"exits_while_dispatching", exits_while_dispatching},
    {"restarts", restarts},
};

int main(int count, char** arguments) {
  if (count < 3) return 2;
  self = arguments[0];
  folder = arguments[2];
  for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
    if (strcmp(kinds[i].kind, arguments[1]) == 0) return kinds[i].live();
  }
  return 2;
}
