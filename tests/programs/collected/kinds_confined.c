// kinds_confined KIND FOLDER: a program that gives up rights or memory in the middle, as KIND says, and works on with what it
// has. What it prints and how it ends is for a tool to leave alone.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "kinds.h"

extern int roctxMarkA(const char*) __attribute__((weak));  // these are only there when it is recorded
extern uint64_t roctxRangeStartA(const char*) __attribute__((weak));

enum { BEFORE = 100, AFTER = 100000, MARKS = 5000, LONG_TEXT = 60000 };
static const int files_and_threads[] = {SYS_open,   SYS_openat, SYS_creat,     SYS_unlink,    SYS_unlinkat, SYS_rename,
                                        SYS_clone,  SYS_clone3, SYS_fallocate, SYS_ftruncate, SYS_unshare,  SYS_mmap};
enum { ALL = sizeof files_and_threads / sizeof *files_and_threads, ALL_BUT_MEMORY = ALL - 1 };

// From now on the first `count` of those calls end as `action` says: in this thread alone, or in all there are.
static void give_up_calls(int count, uint32_t action, unsigned threads) {
  struct sock_filter filter[2 * ALL + 2];
  int length = 0;
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
  for (int i = 0; i < count; i++) {
    filter[length++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)files_and_threads[i], 0, 1);
    filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, action);
  }
  filter[length++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
  const struct sock_fprog program = {(unsigned short)length, filter};
  require(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "prctl");
  require(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, threads, &program) == 0, "seccomp");
}

static int refused_files(void) {
  work(BEFORE);
  give_up_calls(ALL_BUT_MEMORY, SECCOMP_RET_ERRNO | EPERM, SECCOMP_FILTER_FLAG_TSYNC);
  work(AFTER);
  return 3;
}

static int refused_memory(void) {
  work(BEFORE);
  give_up_calls(ALL, SECCOMP_RET_ERRNO | ENOMEM, SECCOMP_FILTER_FLAG_TSYNC);
  work(AFTER);
  return 4;
}

static int confined_thread(void) {
  work(BEFORE);
  give_up_calls(ALL_BUT_MEMORY, SECCOMP_RET_KILL_PROCESS, 0);
  work(AFTER);
  return 5;
}

// Texts, and ranges that stay open: a tool that keeps them needs ever more memory.
static void mark_often(void) {
  static char text[LONG_TEXT];
  if (roctxMarkA == NULL || roctxRangeStartA == NULL) return;
  memset(text, 'x', sizeof text - 1);
  for (int i = 0; i < MARKS; i++) {
    roctxRangeStartA(text);
    text[i]++;
  }
  for (int i = 0; i < MARKS; i++) {
    snprintf(text, sizeof text, "mark %d", i);
    roctxMarkA(text);
  }
}

// Takes all there is under the limit, and goes on with what it has. It waits by itself: the driver's library would need memory.
static int no_memory(void) {
  begin();
  hsa_queue_t* queue = new_queue(0, 1024);
  hsa_signal_t done = new_signal(1);
  struct rlimit limit;
  getrlimit(RLIMIT_AS, &limit);
  const struct rlimit before = limit;
  limit.rlim_cur = address_space();
  require(setrlimit(RLIMIT_AS, &limit) == 0, "setrlimit");
  for (size_t piece = 1 << 20; piece >= 16; piece /= 2) {
    while (malloc(piece) != NULL) {
    }
  }
  mark_often();
  for (int i = 0; i < AFTER; i++) dispatch(queue, 64, (hsa_signal_t){0});
  barrier(queue, done);
  while (hsa_signal_load_scacquire(done) > 0) usleep(100);
  require(setrlimit(RLIMIT_AS, &before) == 0, "setrlimit");
  say("worked", AFTER);
  return 6;
}

int main(int count, char** arguments) {
  if (count < 3) return 2;
  if (strcmp(arguments[1], "refused_files") == 0) return refused_files();
  if (strcmp(arguments[1], "refused_memory") == 0) return refused_memory();
  if (strcmp(arguments[1], "confined_thread") == 0) return confined_thread();
  if (strcmp(arguments[1], "no_memory") == 0) return no_memory();
  return 2;
}
