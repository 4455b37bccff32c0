// kinds_confined KIND FOLDER: a program that gives up rights in the middle, as KIND says, and works on with what it
// has. What it prints and how it ends is for a tool to leave alone.
#include <errno.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "kinds.h"

enum { BEFORE = 100, AFTER = 100000 };
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

int main(int count, char** arguments) {
  if (count < 3) return 2;
  if (strcmp(arguments[1], "refused_files") == 0) return refused_files();
  if (strcmp(arguments[1], "refused_memory") == 0) return refused_memory();
  if (strcmp(arguments[1], "confined_thread") == 0) return confined_thread();
  return 2;
}
