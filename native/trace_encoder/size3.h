// A size in three directions, such as a grid, as the text "x,y,z".
#pragma once

#include <cstddef>
#include <cstdint>

#include "trace_encoder/byte_sink.h"
#include "trace_encoder/trace_encoder.h"

namespace wavescope {

struct Size3 {
  Size3(const WavescopeSlices& slices, std::int64_t size, std::int64_t row)
      : x(slices.sizes[3 * size][row]), y(slices.sizes[3 * size + 1][row]), z(slices.sizes[3 * size + 2][row]) {}

  bool is_known() const { return (x & y & z) != -1; }

  std::size_t text_bytes() const { return decimal_size(x) + decimal_size(y) + decimal_size(z) + 2; }

  void write(ByteSink& sink) const {
    sink.signed_decimal(x);
    sink.byte(',');
    sink.signed_decimal(y);
    sink.byte(',');
    sink.signed_decimal(z);
  }

  std::int64_t x;
  std::int64_t y;
  std::int64_t z;
};

}  // namespace wavescope
