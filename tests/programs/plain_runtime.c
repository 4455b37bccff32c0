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
