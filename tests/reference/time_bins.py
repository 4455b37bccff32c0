"""Steps added to time bins in NumPy; see native/trace_encoder/time_bins.cpp."""

from __future__ import annotations

import numpy as np

from wavescope.formats.timeline.counter_series import BinnedSeries, Int32s, Int64s


def add(self: BinnedSeries, series: Int32s, times_ns: Int64s, steps: Int64s) -> None:
    """What `BinnedSeries.add` does."""
    # Unsigned: the difference of two int64 times may need all 64 bits.
    since_origin = times_ns.view(np.uint64) - np.int64(self._origin_ns).view(np.uint64)
    bins = since_origin >> np.uint64(self._width_bits)
    known = (series >= 0) & (series < self._series_count) & (bins < np.uint64(self._bins))
    since_origin, steps = since_origin[known], steps[known]
    width = 1 << self._width_bits
    at = series[known].astype(np.int64) * self._bins + bins[known].astype(np.int64)
    until_bin_end = width - (since_origin & np.uint64(width - 1)).astype(np.int64)
    np.add.at(self._height.reshape(-1), at, steps)
    np.add.at(self._area.reshape(-1), at, steps * until_bin_end)
