"""Integers numbered by which are distinct, in types as narrow as they can be."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.arrays.array_types import Array
from wavescope.arrays.coded_columns import code_counts, looked_up

# Numbers up to here are counted in a table, larger ones found by sorting.
_TABLE_LIMIT = 1 << 16


def distinct(values: Array) -> tuple[list[int], npt.NDArray[np.integer]]:
    """The distinct integers in ascending order, and for each row the index of its own.

    The indices are as narrow as they can be: passes over them are bound by memory.
    """
    if not len(values):
        return [], np.empty(0, np.uint16)
    low, high = int(values.min()), int(values.max())
    if high - low < _TABLE_LIMIT:
        offsets = values - values.dtype.type(low)
        present = np.flatnonzero(code_counts(offsets, high - low + 1))
        index = np.zeros(high - low + 1, index_type(len(present)))
        index[present] = np.arange(len(present))
        return (present + low).tolist(), looked_up(index, offsets)
    found, inverse = np.unique(values, return_inverse=True)
    return found.tolist(), inverse.astype(index_type(len(found)), copy=False)


def index_type(count: int) -> type[np.uint16] | type[np.int64]:
    """The narrowest type used for indices below `count`."""
    return np.uint16 if count < _TABLE_LIMIT else np.int64


def paired(
    outer: npt.NDArray[np.integer], inner: npt.NDArray[np.integer], inner_count: int, count: int
) -> npt.NDArray[np.integer]:
    """outer * inner_count + inner, of which there are `count` at most."""
    kind = index_type(count)
    combined: Array = outer.astype(kind)
    combined *= kind(inner_count)
    combined += inner.astype(kind, copy=False)
    return combined
