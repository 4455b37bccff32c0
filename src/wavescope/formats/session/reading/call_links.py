"""Which call caused which op, as links, and what an op has from its call: stream or graph.

Call and op carry the same correlation. Correlations are counted from 1 in a process, so two bytes
per call are enough for a value: its place among the distinct ones. Links look calls up in parts by
their correlation, so that memory stays bounded; each part is a pass over the records.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np

from wavescope.arrays.array_types import Array
from wavescope.formats.session.reading.call_rows import CallRows
from wavescope.formats.session.reading.op_rows import OpRows
from wavescope.formats.session.record_file import Records
from wavescope.model.columns import UNKNOWN
from wavescope.model.source import Batch

_MOST_VALUES = (1 << 16) - 1
_MOST_SPARE = 1 << 20
_BLOCK_ROWS = 1 << 16
CALLS_IN_MEMORY = 1 << 22


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


def link_batches(
    calls: CallRows, ops: OpRows, call_count: int, rows: int, calls_in_memory: int = CALLS_IN_MEMORY
) -> Iterator[Batch]:
    """Pairs of call id and op id of one process."""
    parts = -(-call_count // calls_in_memory)
    for part in range(parts):
        keys, ids = _calls_of_part(calls, part, parts, rows)
        if not len(keys):
            continue
        for batch in ops.batches(("id", "correlation"), rows):
            wanted = batch["correlation"]
            places = np.minimum(np.searchsorted(keys, wanted), len(keys) - 1)
            found = (keys[places] == wanted) & (wanted > 0)
            if found.any():
                yield {"call": ids[places[found]], "op": batch["id"][found]}


def _calls_of_part(calls: CallRows, part: int, parts: int, rows: int) -> tuple[Array, Array]:
    """Correlations in increasing order, and the ids of their calls."""
    keys, ids = [np.empty(0, np.int64)], [np.empty(0, np.int64)]
    for block in calls.blocks(rows):
        correlations = block.records["correlation"].astype(np.int64)
        chosen = (correlations > 0) & (correlations % parts == part)
        keys.append(correlations[chosen])
        ids.append(block.places[chosen] + calls.first_id)
    all_keys, all_ids = np.concatenate(keys), np.concatenate(ids)
    order = np.argsort(all_keys, kind="stable")
    return all_keys[order], all_ids[order]
