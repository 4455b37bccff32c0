// kinds_dlopen: opens the HSA runtime by itself, starts and stops it, closes it, three times.
#include <dlfcn.h>
#include <stdio.h>

int main(void) {
  for (int i = 0; i < 3; i++) {
    void* runtime = dlopen("libhsa-runtime64.so.1", RTLD_NOW);
    if (runtime == NULL) return 1;
    int (*init)(void) = (int (*)(void))dlsym(runtime, "hsa_init");
    int (*shut_down)(void) = (int (*)(void))dlsym(runtime, "hsa_shut_down");
    const int started = init();
    const int stopped = shut_down();
    printf("started %d, stopped %d, closed %d\n", started, stopped, dlclose(runtime));
  }
  return 0;
}
