// Adds steps to time bins; see trace_encoder.h.

#include "trace_encoder/trace_encoder.h"

extern "C" void wavescope_bins_add(std::int64_t rows, const std::int32_t* series, const std::int64_t* time_ns,
                                   const std::int64_t* step, std::int64_t origin_ns, int width_bits,
                                   std::int64_t series_count, std::int64_t bins, std::int64_t* height, std::int64_t* area) {
  const std::uint64_t width = std::uint64_t{1} << static_cast<unsigned>(width_bits);
  for (std::int64_t row = 0; row < rows; ++row) {
    const std::uint64_t since_origin = static_cast<std::uint64_t>(time_ns[row]) - static_cast<std::uint64_t>(origin_ns);
    const std::uint64_t bin = since_origin >> static_cast<unsigned>(width_bits);
    if (series[row] < 0 || series[row] >= series_count || bin >= static_cast<std::uint64_t>(bins)) {
      continue;
    }
    const std::uint64_t until_bin_end = width - (since_origin & (width - 1));
    const std::int64_t at = series[row] * bins + static_cast<std::int64_t>(bin);
    height[at] = static_cast<std::int64_t>(static_cast<std::uint64_t>(height[at]) + static_cast<std::uint64_t>(step[row]));
    area[at] = static_cast<std::int64_t>(static_cast<std::uint64_t>(area[at]) +
                                         static_cast<std::uint64_t>(step[row]) * until_bin_end);
  }
}
