// What must hold after any input: a failed condition ends the program, as a sanitizer would.
#pragma once

#include <cstdio>
#include <cstdlib>

#define REQUIRE(condition)                                                                \
  do {                                                                                    \
    if (!(condition)) {                                                                   \
      std::fprintf(stderr, "%s:%d: does not hold: %s\n", __FILE__, __LINE__, #condition); \
      std::abort();                                                                       \
    }                                                                                     \
  } while (false)
