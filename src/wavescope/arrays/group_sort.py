"""Values sorted within groups, the groups one after another."""

from __future__ import annotations

import ctypes

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.arrays.coded_columns import code_counts
from wavescope.native.library import columns_library

MOST_GROUPS = 1 << 16

Counts = npt.NDArray[np.int64]


def sorted_within_groups(
    groups: npt.NDArray[np.uint16], values: Array, group_count: int
) -> tuple[Array, Counts]:
    """The values (int64 or uint32) in order of (group, value), and how many each group has."""
    library = columns_library()
    if library is not None:
        result = _native(library, groups, values, group_count)
        if result is not None:
            return result
    counts = code_counts(groups, group_count)
    # NumPy sorts 16-bit keys by radix; sorting the groups one by one then stays in the cache.
    ordered = values[np.argsort(groups, kind="stable")]
    end = 0
    for count in counts[counts > 0].tolist():
        ordered[end : end + count].sort()
        end += count
    return ordered, counts


def _native(
    library: ctypes.CDLL, groups: npt.NDArray[np.uint16], values: Array, group_count: int
) -> tuple[Array, Counts] | None:
    groups, values = np.ascontiguousarray(groups), np.ascontiguousarray(values)
    ordered, counts = np.empty_like(values), np.empty(group_count, np.int64)
    if values.dtype == np.uint32:
        sort = library.wavescope_sort_short_within_groups
    else:
        sort = library.wavescope_sort_within_groups
    failed = sort(
        ctypes.c_void_p(groups.ctypes.data),
        ctypes.c_void_p(values.ctypes.data),
        ctypes.c_int64(len(values)),
        ctypes.c_int32(group_count),
        ctypes.c_void_p(ordered.ctypes.data),
        ctypes.c_void_p(counts.ctypes.data),
    )
    return None if failed else (ordered, counts)
