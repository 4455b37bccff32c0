// The memory of all C++ in an injected library, for nobody else. Only there: sanitizers have operators of their own.
#include <cstdlib>
#include <new>

#include "core/spare_memory.h"

void* operator new(std::size_t bytes) {
  if (void* memory = std::malloc(bytes == 0 ? 1 : bytes)) return memory;
  if (void* memory = wavescope::spare_memory.take(bytes)) return memory;
  throw std::bad_alloc();
}

void operator delete(void* memory) noexcept {
  if (!wavescope::spare_memory.give_back(memory)) std::free(memory);
}

void operator delete(void* memory, std::size_t) noexcept { operator delete(memory); }
