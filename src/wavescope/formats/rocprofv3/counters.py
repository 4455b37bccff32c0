"""Counter values of one process and the ops they belong to, found by dispatch id.

Counters may come before, after or without the kernel trace: values wait, and a dispatch that no
kernel trace has becomes an op with the times that the counter rows state.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from wavescope.arrays import Array
from wavescope.formats.rocprofv3.rows import Rocprofv3Rows
from wavescope.model.columns import COUNTERS


class CounterRows:
    """Waiting counter values and dispatches of one process."""

    def __init__(self, rows: Rocprofv3Rows, process: int) -> None:
        self._rows = rows
        self._process = process
        self._known: list[tuple[Array, Array]] = []
        self._waiting_ops: list[dict[str, Array]] = []
        self._dispatches: list[int] = []
        self._names: list[int] = []
        self._values: list[float] = []

    def add_dispatches(self, dispatches: Array, ops: Array) -> None:
        """State which op each dispatch id is."""
        self._known.append((dispatches, ops))

    def add_ops(self, columns: Mapping[str, Array]) -> None:
        """Dispatches as counter records describe them; `sequence` is the dispatch id."""
        _, first = np.unique(columns["sequence"], return_index=True)
        rows = np.sort(first)
        self._waiting_ops.append({name: column[rows] for name, column in columns.items()})

    def add_values(self, dispatch: int, names: Sequence[str], values: Sequence[Any]) -> None:
        """Counter values of one dispatch."""
        strings = self._rows.builder.strings
        for name, value in zip(names, values, strict=True):
            if isinstance(value, (int, float)):
                self._dispatches.append(dispatch)
                self._names.append(strings.code(name))
                self._values.append(float(value))

    def finish(self) -> None:
        """Write the ops that only counters know, then the values."""
        for columns in self._waiting_ops:
            unseen = self._op_of(columns["sequence"]) < 0
            if unseen.any():
                rows = {name: column[unseen] for name, column in columns.items()}
                ids, kept = self._rows.add_ops(self._process, rows)
                self.add_dispatches(rows["sequence"][kept], ids)
        if not self._dispatches:
            return
        ops = self._op_of(np.array(self._dispatches, np.int64))
        found = ops >= 0
        builder = self._rows.builder
        builder.notes.add("counter values of ops without times, left out", int((~found).sum()))
        builder.add(
            COUNTERS,
            {
                "op": ops[found],
                "name": np.array(self._names, np.int32)[found],
                "value": np.array(self._values, np.float64)[found],
            },
        )

    def _op_of(self, dispatches: Array) -> Array:
        if not self._known:
            return np.full(len(dispatches), -1, np.int64)
        if len(self._known) > 1:
            self._known = [
                (
                    np.concatenate([keys for keys, _ in self._known]),
                    np.concatenate([ops for _, ops in self._known]),
                )
            ]
        keys, ops = self._known[0]
        if len(keys) > 1 and (np.diff(keys) < 0).any():
            order = np.argsort(keys, kind="stable")
            self._known = [(keys[order], ops[order])]
            keys, ops = self._known[0]
        if not len(keys):
            return np.full(len(dispatches), -1, np.int64)
        places = np.searchsorted(keys, dispatches)
        places[places == len(keys)] = 0
        return np.where(keys[places] == dispatches, ops[places], -1)
