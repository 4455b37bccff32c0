// Prints which C library and which HSA runtime it runs with, the program it takes itself for, and what a child says.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <gnu/libc-version.h>
#include <hsa/hsa.h>
#include <stdio.h>
#include <stdlib.h>

int main(void) {
  Dl_info info;
  if (dladdr((void*)&hsa_init, &info) == 0) return 1;
  printf("%s\n%s\n%s\n", gnu_get_libc_version(), info.dli_fname, program_invocation_name);
  fflush(stdout);
  return system("echo child");
}
