// The intercepted functions as numbers, and what is known of each: its name, its kind, its kept arguments.
#ifndef WAVESCOPE_COLLECTOR_HIP_FUNCTIONS_H
#define WAVESCOPE_COLLECTOR_HIP_FUNCTIONS_H

#include <cstdint>

#include "core/facts_log.h"

namespace wavescope::hip {

enum class Function : uint16_t {
#define HIP_FUNCTION(kind, name, parameters, passed, stream, kept) name,
#define HIP_NEWER_FUNCTION(since, ...) HIP_FUNCTION(__VA_ARGS__)
#define HIP_CXX_FUNCTION(kind, name, parameters, passed, stream, kept, symbol) name##_cxx,
#include "collector_hip/hip_functions.def"
#undef HIP_FUNCTION
#undef HIP_NEWER_FUNCTION
#undef HIP_CXX_FUNCTION
  kCount
};

// The symbol that the HIP runtime exports it by.
const char* symbol_of(Function function);

// Whether one of them is exported by this symbol.
bool has_row(const char* symbol);

Fact function_fact(Function function);

}  // namespace wavescope::hip

#endif
