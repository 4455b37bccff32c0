"""Positions of row ids: a small array index for every row of a table, found by its id."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.model.columns import Table
from wavescope.model.source import TraceSource

Int64s = npt.NDArray[np.int64]

_ALWAYS_DENSE = 1 << 20


class IdIndex:
    """Maps the ids of a table to positions below `size`.

    Ids that are nearly consecutive are their own positions (one byte of memory each); others are
    looked up in a sorted list.
    """

    def __init__(self, source: TraceSource, table: Table) -> None:
        self._exists = np.zeros(0, np.bool_)
        self._sorted: Int64s | None = None
        held: list[Int64s] = []
        rows = 0
        for batch in source.batches(table, ("id",)):
            ids = batch["id"]
            if not len(ids):
                continue
            # Counted here: a source may know its number of rows only as the largest id.
            rows += len(ids)
            if held or int(ids[-1]) > 4 * rows + _ALWAYS_DENSE or int(ids[0]) < 0:
                held.append(ids)
            else:
                self._mark(ids)
        if held:
            self._sorted = np.unique(np.concatenate((np.flatnonzero(self._exists), *held)))
            self._exists = np.zeros(0, np.bool_)

    @property
    def size(self) -> int:
        """One more than the largest position."""
        return len(self._exists) if self._sorted is None else len(self._sorted)

    def positions(self, ids: Int64s) -> Int64s:
        """The position of each id, -1 where the table has no such row."""
        if self.size == 0:
            return np.full(len(ids), -1, np.int64)
        if self._sorted is None:
            inside = (ids >= 0) & (ids < len(self._exists))
            at = np.where(inside, ids, 0)
            return np.where(inside & self._exists[at], at, -1)
        at = np.minimum(np.searchsorted(self._sorted, ids), len(self._sorted) - 1)
        return np.where(self._sorted[at] == ids, at, -1)

    def _mark(self, ids: Int64s) -> None:
        largest = int(ids.max())
        if largest >= len(self._exists):
            grown = np.zeros(max(largest + 1, len(self._exists) * 5 // 4), np.bool_)
            grown[: len(self._exists)] = self._exists
            self._exists = grown
        self._exists[ids] = True
