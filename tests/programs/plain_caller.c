// A library that is linked to a HIP runtime, as extension modules are.
#include <stddef.h>

int hipMemcpy(void* dst, const void* src, size_t bytes, int kind);
int hipMemcpyAsync(void* dst, const void* src, size_t bytes, int kind, void* stream);
int hipMalloc(void** pointer, size_t bytes);

int copy(size_t bytes) { return hipMemcpy((void*)0x10, (void*)0x20, bytes, -1); }
int copy_async(size_t bytes) { return hipMemcpyAsync((void*)0x10, (void*)0x20, bytes, 3, (void*)0x30); }
size_t allocate(size_t bytes) {
  void* pointer = NULL;
  return hipMalloc(&pointer, bytes) == 0 ? (size_t)pointer : 0;
}
