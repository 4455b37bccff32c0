"""What calls know of the ops they caused, by the correlation that both carry.

Correlations are counted from 1, so two bytes per call are enough for a value: its place among the
distinct ones. Where a collector let go of the runtime and took it again, the count begins anew and
the upper half of a correlation, its epoch, is one more.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.reading.call_rows import CallRows
from wavescope.formats.session.record_file import Records
from wavescope.model.columns import UNKNOWN

_MOST_VALUES = (1 << 16) - 1
_MOST_SPARE = 1 << 20
_BLOCK_ROWS = 1 << 16
_MOST_EPOCHS = 1 << 10
_EPOCH_BITS = np.uint64(32)
_COUNT_MASK = np.uint64((1 << 32) - 1)


class CallValues:
    """Values by correlation, read from the calls when they are first asked for."""

    def __init__(
        self, calls: CallRows, call_count: int, value_of: Callable[[Records], Array]
    ) -> None:
        """`value_of` gives the value of each call record, or UNKNOWN."""
        self._calls = calls
        self._value_of = value_of
        self._room = 4 * call_count + _MOST_SPARE
        """Places that there may be in all."""
        self._places: dict[int, Array] | None = None
        """By epoch: the place of each correlation's value."""
        self._values = np.array([UNKNOWN], np.int64)

    def of(self, correlations: Array) -> Array:
        """The values of ops by their correlation; unknown where no call was recorded."""
        if self._places is None:
            self._places = self._read()
        found = np.full(len(correlations), UNKNOWN, np.int64)
        for epoch, mine in _by_epoch(correlations):
            if epoch in self._places:
                places, counts = self._places[epoch], _counts(correlations[mine])
                within = np.where(counts < len(places), counts, 0)
                found[mine] = self._values[places[within]]
        return found

    def _read(self) -> dict[int, Array]:
        places: dict[int, Array] = {}
        known = {UNKNOWN: 0}
        for block in self._calls.blocks(_BLOCK_ROWS):
            for epoch, mine in _by_epoch(block.records["correlation"]):
                if epoch in places or len(places) < _MOST_EPOCHS:
                    self._take(places, epoch, block.records[mine], known)
        self._values = np.array(list(known), np.int64)
        return places

    def _take(
        self, places: dict[int, Array], epoch: int, records: Records, known: dict[int, int]
    ) -> None:
        """Note the values of calls of one epoch."""
        counts = _counts(records["correlation"])
        mine = places.setdefault(epoch, np.zeros(1, np.uint16))
        usable = (counts > 0) & (counts < len(mine) + self._room)
        if not usable.any():
            return
        chosen = counts[usable]
        largest = int(chosen.max())
        if largest >= len(mine):
            grown = np.zeros(min(len(mine) + self._room, 2 * largest + 1), np.uint16)
            grown[: len(mine)] = mine
            self._room -= len(grown) - len(mine)
            places[epoch] = mine = grown
        values = self._value_of(records[usable])
        distinct, inverse = np.unique(values, return_inverse=True)
        numbers = [
            known.setdefault(value, len(known)) if len(known) < _MOST_VALUES else 0
            for value in distinct.tolist()
        ]
        mine[chosen] = np.array(numbers, np.uint16)[inverse]


def _by_epoch(correlations: Array) -> list[tuple[int, Array]]:
    """The epochs that occur, and which of `correlations` are of each."""
    epochs = correlations >> _EPOCH_BITS
    if not epochs.any():
        return [(0, np.ones(len(epochs), bool))] if len(epochs) else []
    distinct, counts = np.unique(epochs, return_counts=True)
    order = np.argsort(epochs, kind="stable")
    parts = np.split(order, np.cumsum(counts)[:-1])
    return list(zip(distinct.tolist(), parts, strict=True))


def _counts(correlations: Array) -> Array:
    counts: Array = (correlations & _COUNT_MASK).astype(np.intp)
    return counts
