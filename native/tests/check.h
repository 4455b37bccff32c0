// CHECK stops the test program with the place and the condition that does not hold.
#ifndef WAVESCOPE_TESTS_CHECK_H
#define WAVESCOPE_TESTS_CHECK_H

#include <cstdio>
#include <cstdlib>

#define CHECK(condition)                                                                 \
  do {                                                                                   \
    if (!(condition)) {                                                                  \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                      \
    }                                                                                    \
  } while (false)

#endif
