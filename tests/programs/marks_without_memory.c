// marks_without_memory COUNT: takes all memory that it may have, then marks and starts ranges that stay open, so often.
// Exits with 7. There is nothing but the C library in it that needs memory.
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

extern int roctxMarkA(const char*) __attribute__((weak));  // these are only there when it is recorded
extern uint64_t roctxRangeStartA(const char*) __attribute__((weak));

enum { LONG_TEXT = 60000 };

static void take_all_memory(void) {
  unsigned long pages = 0;
  FILE* file = fopen("/proc/self/statm", "r");
  if (file == NULL || fscanf(file, "%lu", &pages) != 1) exit(1);
  fclose(file);
  const struct rlimit limit = {pages * 4096, pages * 4096};
  if (setrlimit(RLIMIT_AS, &limit) != 0) exit(2);
  for (size_t piece = 1 << 20; piece >= 16; piece /= 2) {
    while (malloc(piece) != NULL) {
    }
  }
}

int main(int count, char** arguments) {
  static char text[LONG_TEXT];
  const int times = count > 1 ? atoi(arguments[1]) : 1;
  if (roctxMarkA != NULL) roctxMarkA("before");
  take_all_memory();
  if (roctxMarkA == NULL || roctxRangeStartA == NULL) return 7;
  memset(text, 'x', sizeof text - 1);
  for (int i = 0; i < times; i++) {
    roctxRangeStartA(text);
    text[i % (LONG_TEXT - 1)]++;
  }
  for (int i = 0; i < times; i++) {
    snprintf(text, sizeof text, "mark %d", i);
    roctxMarkA(text);
  }
  return 7;
}
