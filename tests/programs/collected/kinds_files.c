// kinds_files KIND FOLDER: dispatches and marks, does in the middle what KIND says to its descriptors, files or limits, opens
// files of its own in FOLDER, goes on, and says in FOLDER/result what its files are like in the end.
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "dispatching.h"

extern int roctxMarkA(const char*) __attribute__((weak));  // only there when it is recorded

enum { OWN_FILES = 24, SMALL = 4096, LARGE = 8 << 20, BEFORE = 2000, AFTER = 40000, ROUND = 500 };
static const char* folder;
static int result_file = -1;
static int own[OWN_FILES];

static void require(int holds, const char* what) {
  if (holds) return;
  dprintf(2, "%s: %s\n", what, strerror(errno));
  _exit(1);
}

static void work(hsa_queue_t* queue, int dispatches) {
  hsa_signal_t done = new_signal(1);
  char text[32];
  for (int i = 0; i < dispatches; i++) {
    snprintf(text, sizeof text, "mark %d", i);
    if (roctxMarkA != NULL) roctxMarkA(text);
    dispatch(queue, 64, (hsa_signal_t){0});
    if (i % ROUND != ROUND - 1) continue;
    hsa_signal_store_relaxed(done, 1);
    barrier(queue, done);
    wait_below(done, 1);
  }
}

static void limit_to(int resource, rlim_t most) {
  const struct rlimit limit = {most, most};
  require(setrlimit(resource, &limit) == 0, "setrlimit");
}

static void close_from(unsigned first, unsigned last) { require(syscall(SYS_close_range, first, last, 0) == 0, "close_range"); }

static void each_session_file(void (*change)(int directory, const char* name)) {
  const char* session = getenv("WAVESCOPE_OUTPUT");
  if (session == NULL) return;
  DIR* entries = opendir(session);
  require(entries != NULL, session);
  for (struct dirent* entry; (entry = readdir(entries)) != NULL;) {
    if (entry->d_name[0] != '.') change(dirfd(entries), entry->d_name);
  }
  closedir(entries);
}

static void delete(int directory, const char* name) { unlinkat(directory, name, 0); }

static void cut(int directory, const char* name) {
  const int file = openat(directory, name, O_WRONLY | O_TRUNC);
  require(file >= 0 && close(file) == 0, name);
}

static void replace(int directory, const char* name) {
  delete(directory, name);
  const int file = openat(directory, name, O_WRONLY | O_CREAT | O_EXCL, 0600);
  require(file >= 0 && write(file, "mine", 4) == 4 && close(file) == 0, name);
}

static void loop_over_descriptors(void) {
  for (int number = 3; number < 1024; number++) close(number);
}

static void meet(const char* kind) {
  if (strcmp(kind, "close_range") == 0) close_from(3, ~0u);
  else if (strcmp(kind, "close_loop") == 0) loop_over_descriptors();
  else if (strcmp(kind, "close_standard") == 0) close_from(0, 2);
  else if (strcmp(kind, "limit_file_size") == 0) limit_to(RLIMIT_FSIZE, 1 << 20);
  else if (strcmp(kind, "limit_descriptors") == 0) limit_to(RLIMIT_NOFILE, 3);
  else if (strcmp(kind, "session_deleted") == 0) each_session_file(delete);
  else if (strcmp(kind, "session_cut") == 0) each_session_file(cut);
  else if (strcmp(kind, "session_replaced") == 0) each_session_file(replace);
  else if (strcmp(kind, "chdir") == 0) require(chdir("/") == 0, "chdir");
  else if (strcmp(kind, "chroot") == 0) require(chroot(folder) == 0 && chdir("/") == 0, "chroot");
  else if (strcmp(kind, "setuid") == 0) require(setgid(65534) == 0 && setuid(65534) == 0, "setuid");
  else require(strcmp(kind, "nothing") == 0 || strcmp(kind, "umask") == 0, kind);
}

static void open_own_files(int directory) {
  static char bytes[LARGE];
  memset(bytes, 'd', sizeof bytes);
  for (int i = 0; i < OWN_FILES; i++) {
    char name[16];
    snprintf(name, sizeof name, "own%d", i);
    own[i] = openat(directory, name, O_RDWR | O_CREAT | O_TRUNC, 0644);
    if (own[i] < 0) continue;  // not every kind may open as many
    const size_t size = i % 2 == 0 ? SMALL : LARGE;
    while (pwrite(own[i], bytes, size, 0) < 0 && errno == EINTR) {
    }
  }
}

static unsigned long checksum_of(int file) {
  static unsigned char bytes[1 << 16];
  unsigned long sum = 14695981039346656037ul;
  off_t at = 0;
  for (ssize_t count; (count = pread(file, bytes, sizeof bytes, at)) > 0; at += count) {
    for (ssize_t i = 0; i < count; i++) sum = (sum ^ bytes[i]) * 1099511628211ul;
  }
  return sum ^ (unsigned long)at;
}

static void say_own_files(void) {
  for (int i = 0; i < OWN_FILES; i++) {
    if (own[i] < 0) continue;
    dprintf(result_file, "own file %d is descriptor %d: %lx\n", i, own[i], checksum_of(own[i]));
  }
}

int main(int count, char** arguments) {
  if (count != 3) return 2;
  folder = arguments[2];
  const char* kind = arguments[1];
  if (strcmp(kind, "umask") == 0) umask(0777);
  int directory = open(folder, O_RDONLY | O_DIRECTORY);
  require(directory >= 0, folder);
  begin();
  hsa_queue_t* queue = new_queue(0, 1024);
  work(queue, BEFORE);
  if (strcmp(kind, "limit_file_size") == 0) signal(SIGXFSZ, SIG_IGN);
  meet(kind);
  if (fcntl(directory, F_GETFD) < 0) directory = open(folder, O_RDONLY | O_DIRECTORY);
  result_file = openat(directory, "result", O_WRONLY | O_CREAT | O_APPEND, 0644);
  open_own_files(directory);
  work(queue, AFTER);
  say_own_files();
  puts("done");
  return 0;
}
