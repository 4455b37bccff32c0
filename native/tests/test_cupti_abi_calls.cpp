// The rows of call_functions.def agree with NVIDIA's headers: callback ids, and the place and size of every parameter.
// Compiled once for each folder of WAVESCOPE_CUPTI_INCLUDES.
#include <cstdio>

#if __has_include(<cupti.h>)
#include <cuda.h>
#include <cuda_runtime_api.h>
#include <cupti.h>

#include <cstddef>
#include <cstdint>
#include <vector>

#include "check.h"
#include "collector_cupti/parameters/copies.h"
#include "collector_cupti/parameters/graphs_and_modules.h"
#include "collector_cupti/parameters/launches.h"
#include "collector_cupti/parameters/layout.h"
#include "collector_cupti/parameters/memory_and_streams.h"

namespace {

using namespace wavescope::cupti::parameters;

struct Field {
  std::ptrdiff_t offset;
  std::size_t bytes;
  bool operator==(const Field& other) const { return offset == other.offset && bytes == other.bytes; }
};
using Fields = std::vector<Field>;

template <typename Struct, typename... Members>
Fields places(const Struct& of, const Members&... members) {
  const auto* begin = reinterpret_cast<const char*>(&of);
  return {Field{reinterpret_cast<const char*>(&members) - begin, sizeof members}...};
}

// Of a struct with so many members; another number of them does not compile.
template <int kCount, typename Struct>
Fields fields_of(const Struct& of) {
  static_assert(kCount <= 11);
  if constexpr (kCount == 1) {
    const auto& [a] = of;
    return places(of, a);
  } else if constexpr (kCount == 2) {
    const auto& [a, b] = of;
    return places(of, a, b);
  } else if constexpr (kCount == 3) {
    const auto& [a, b, c] = of;
    return places(of, a, b, c);
  } else if constexpr (kCount == 4) {
    const auto& [a, b, c, d] = of;
    return places(of, a, b, c, d);
  } else if constexpr (kCount == 5) {
    const auto& [a, b, c, d, e] = of;
    return places(of, a, b, c, d, e);
  } else if constexpr (kCount == 6) {
    const auto& [a, b, c, d, e, f] = of;
    return places(of, a, b, c, d, e, f);
  } else if constexpr (kCount == 7) {
    const auto& [a, b, c, d, e, f, g] = of;
    return places(of, a, b, c, d, e, f, g);
  } else if constexpr (kCount == 8) {
    const auto& [a, b, c, d, e, f, g, h] = of;
    return places(of, a, b, c, d, e, f, g, h);
  } else if constexpr (kCount == 10) {
    const auto& [a, b, c, d, e, f, g, h, i, j] = of;
    return places(of, a, b, c, d, e, f, g, h, i, j);
  } else {
    const auto& [a, b, c, d, e, f, g, h, i, j, k] = of;
    return places(of, a, b, c, d, e, f, g, h, i, j, k);
  }
}

template <typename Call>
Fields own_fields(const Call& call) {
  return fields_of<Call::kFields>(call);
}
template <typename Call>
Fields own_fields(const OnStream<Call>& call) {
  Fields fields = own_fields(call.call);
  fields.push_back({offsetof(OnStream<Call>, stream), sizeof call.stream});
  return fields;
}

template <typename Own, typename Real>
void check_layout(const char* name) {
  const bool same = own_fields(Own{}) == fields_of<Own::kFields>(Real{}) && sizeof(Own) == sizeof(Real);
  if (!same) std::fprintf(stderr, "the parameters of %s have another layout\n", name);
  CHECK(same);
}

int rows = 0, layouts = 0;

// Names are put together where they come in: cuda.h redefines some of them.
#define CUDA_UNREAD(interface, id, name, version, kind)                                                                \
  static_assert(static_cast<uint32_t>(CUPTI_##interface##_TRACE_CBID_##name##version) == id, #name " has another id"); \
  ++rows;
#define CUDA_FUNCTION(interface, id, name, version, kind, ...)                                                         \
  static_assert(static_cast<uint32_t>(CUPTI_##interface##_TRACE_CBID_##name##version) == id, #name " has another id"); \
  ++rows;                                                                                                              \
  check_layout<__VA_ARGS__, name##version##_params>(#name);                                                            \
  ++layouts;
#if CUPTI_API_VERSION >= 130000
#define CUDA_12_FUNCTION(interface, id, name, version, kind, ...)                                                      \
  static_assert(static_cast<uint32_t>(CUPTI_##interface##_TRACE_CBID_##name##version) == id, #name " has another id"); \
  ++rows;
#define CUDA_13_UNREAD CUDA_UNREAD
#else
#define CUDA_13_UNREAD(...)
#endif

void rows_are_what_the_headers_say() {
#include "collector_cupti/call_functions.def"
}

void launch_configurations_are_the_same() {
  CHECK(fields_of<6>(RuntimeLaunchConfig{}) == fields_of<6>(cudaLaunchConfig_t{}));
  CHECK(fields_of<10>(DriverLaunchConfig{}) == fields_of<10>(CUlaunchConfig{}));
}

}  // namespace

int main() {
  rows_are_what_the_headers_say();
  launch_configurations_are_the_same();
  std::printf("%d functions, the parameters of %d\n", rows, layouts);
  CHECK(rows > 250 && layouts > 200);
  return 0;
}

#else

int main() {
  std::puts("no cupti.h to compare with");
  return 77;
}

#endif
