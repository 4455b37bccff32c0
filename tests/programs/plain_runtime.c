// A stand-in for the HIP runtime with a handful of functions, to try what no real program does on purpose.
#include <stddef.h>
#include <stdint.h>

int hipMemcpyAsync(void* dst, const void* src, size_t bytes, int kind, void* stream) {
  (void)dst, (void)src, (void)kind, (void)stream;
  return bytes == 13 ? 1 : 0;
}

// Calls another exported function, as a runtime may do.
int hipMemcpy(void* dst, const void* src, size_t bytes, int kind) { return hipMemcpyAsync(dst, src, bytes, kind, NULL); }

int hipMalloc(void** pointer, size_t bytes) {
  *pointer = (void*)(uintptr_t)(0x1000 + bytes);
  return 0;
}

int hipDrvMemcpy3D(const void* copy) { return copy == NULL; }

static int per_thread_copy(void* dst, const void* src, size_t bytes, int kind, void* stream) {
  (void)dst, (void)src, (void)bytes, (void)kind, (void)stream;
  return 77;
}

// As newer runtimes have it: with flags a function of the same name may be another one.
int hipGetProcAddress(const char* symbol, void** function, int version, uint64_t flags, int* status) {
  (void)version, (void)status;
  *function = flags != 0 ? (void*)per_thread_copy : symbol[3] == 'M' ? (void*)hipMemcpyAsync : NULL;
  return *function == NULL;
}
