"""What an op has from the call that caused it: its stream, or the graph it is part of.

Correlations are counted from 1 in a process, so two bytes per call are enough: the place of its
value among the distinct ones.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.session.call_rows import CallRows
from wavescope.formats.session.record_file import Records
from wavescope.model.columns import UNKNOWN

_MOST_VALUES = (1 << 16) - 1
_MOST_SPARE = 1 << 20
_BLOCK_ROWS = 1 << 16


class CallValues:
    """Values by correlation, read from the calls when they are first asked for."""

    def __init__(
        self, calls: CallRows, call_count: int, value_of: Callable[[Records], Array]
    ) -> None:
        """`value_of` gives the value of each call record, or UNKNOWN."""
        self._calls = calls
        self._value_of = value_of
        self._limit = 4 * call_count + _MOST_SPARE
        self._places: Array | None = None
        self._values = np.array([UNKNOWN], np.int64)

    def of(self, correlations: Array) -> Array:
        """The values of ops by their correlation; unknown where no call was recorded."""
        if self._places is None:
            self._places = self._read()
        places = self._places
        within = np.where(correlations < len(places), correlations, 0).astype(np.intp)
        return self._values[places[within]]

    def _read(self) -> Array:
        places = np.zeros(1, np.uint16)
        known = {UNKNOWN: 0}
        for block in self._calls.blocks(_BLOCK_ROWS):
            correlations = block.records["correlation"]
            usable = (correlations > 0) & (correlations < self._limit)
            if not usable.any():
                continue
            chosen = correlations[usable].astype(np.intp)
            if int(chosen.max()) >= len(places):
                grown = np.zeros(min(self._limit, 2 * int(chosen.max()) + 1), np.uint16)
                grown[: len(places)] = places
                places = grown
            values = self._value_of(block.records[usable])
            distinct, inverse = np.unique(values, return_inverse=True)
            numbers = [
                known.setdefault(value, len(known)) if len(known) < _MOST_VALUES else 0
                for value in distinct.tolist()
            ]
            places[chosen] = np.array(numbers, np.uint16)[inverse]
        self._values = np.array(list(known), np.int64)
        return places
