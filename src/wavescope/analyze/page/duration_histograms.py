"""How long ops of one name took, as counts in logarithmic bins.

Each octave has sixteen bins of equal width: edges are 2**n times 1, 1 + 1/16, 1 + 2/16 and so on.
The bin of a duration follows from the bits of the number alone, so that no rounding decides.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.arrays.coded_columns import BLOCK_ROWS, blocks

_OCTAVE_BITS = 4
BINS_PER_OCTAVE = 1 << _OCTAVE_BITS
_MANTISSA_BITS = 52 - _OCTAVE_BITS
_LOWEST = 1023 << _OCTAVE_BITS  # the bits of 1.0
BIN_COUNT = 63 * BINS_PER_OCTAVE + 1
"""Bin 0 holds durations below 1 ns."""


class DurationHistograms(NamedTuple):
    """Counts [group, bin] of the bins from `first_bin` on."""

    first_bin: int
    counts: npt.NDArray[np.int64]

    def edges_ns(self) -> list[float]:
        """The lower edge of each bin and the upper edge of the last."""
        last = self.first_bin + self.counts.shape[1]
        return [lower_edge_ns(bin_number) for bin_number in range(self.first_bin, last + 1)]


def lower_edge_ns(bin_number: int) -> float:
    """The shortest duration of a bin."""
    if bin_number == 0:
        return 0.0
    octave, part = divmod(bin_number - 1, BINS_PER_OCTAVE)
    return 2.0**octave * (1 + part / BINS_PER_OCTAVE)


def duration_histograms(groups: Array, durations_ns: Array, group_count: int) -> DurationHistograms:
    """The histograms of the groups 0 to `group_count` - 1; bins that all leave empty are cut."""
    counts = np.zeros(group_count * BIN_COUNT, np.int64)
    for rows in blocks(len(groups), max(BLOCK_ROWS, 8 * len(counts))):
        cells = groups[rows].astype(np.int64) * BIN_COUNT + _bins(durations_ns[rows])
        counts += np.bincount(cells, minlength=len(counts))
    table = counts.reshape(group_count, BIN_COUNT)
    used = np.flatnonzero(table.any(axis=0))
    if not used.size:
        return DurationHistograms(0, table[:, :0])
    first, stop = int(used[0]), int(used[-1]) + 1
    return DurationHistograms(first, table[:, first:stop])


def _bins(durations_ns: Array) -> npt.NDArray[np.int64]:
    bits = durations_ns.astype(np.float64).view(np.int64) >> _MANTISSA_BITS
    bins: npt.NDArray[np.int64] = np.maximum(bits - (_LOWEST - 1), 0)
    return bins
