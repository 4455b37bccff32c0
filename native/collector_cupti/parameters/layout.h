// The parameters of CUDA's functions as CUPTI shows them to a callback, one struct per layout, and what of them is kept.
//
// Functions with the same layout share a struct; tests/test_cupti_abi_calls.cpp holds each against NVIDIA's headers. `keep`
// tells a visitor, in the order of CallRecord::arguments:
//
//   number(name, value)    an integer                   stream(handle)           the stream it goes to
//   address(name, value)   a pointer or handle          result(name, pointer)    what the call left in *pointer
//   text(name, value)      a C string                   kernel()                 the name of the kernel that is launched
//   block(x, y, z)         sizes of a block
#ifndef WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_LAYOUT_H
#define WAVESCOPE_COLLECTOR_CUPTI_PARAMETERS_LAYOUT_H

#include <cstddef>
#include <cstdint>

namespace wavescope::cupti::parameters {

#define WAVESCOPE_KEEP        \
  template <typename Visitor> \
  void keep([[maybe_unused]] Visitor& visitor) const

// Not read at all.
struct Unread {
  static constexpr int kFields = 0;
  WAVESCOPE_KEEP {}
};

// The same of a launch: its kernel is told of besides.
struct UnreadLaunch {
  static constexpr int kFields = 0;
  WAVESCOPE_KEEP { visitor.kernel(); }
};

// Most functions with a stream take it last. All else in them begins at a multiple of 8 bytes, and so does that.
template <typename Call>
struct OnStream {
  static constexpr int kFields = Call::kFields + 1;
  Call call;
  void* stream;
  WAVESCOPE_KEEP {
    call.keep(visitor);
    visitor.stream(stream);
  }
};

}  // namespace wavescope::cupti::parameters

#endif
