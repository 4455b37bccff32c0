"""Markers that come back from a timeline with the ids they had, because ops refer to them.

A timeline is in order of time, and ids of a table increase: so they wait until all are there.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from wavescope.arrays import Array
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import MARKERS, UNKNOWN

_LONGEST_NUMBER = 32


def payload_bits(text: str) -> int:
    """The bits of the number that `text` spells, UNKNOWN (which are those of no number) if none."""
    try:
        value = float(text) if len(text) <= _LONGEST_NUMBER else float("nan")
    except ValueError:
        return UNKNOWN
    return UNKNOWN if value != value else int(np.float64(value).view(np.int64))  # noqa: PLR0124


class NumberedMarkers:
    """Adds markers to a trace: those without ids at once, all others in the end."""

    def __init__(self, builder: TraceBuilder) -> None:
        self._builder = builder
        self._waiting: list[dict[str, Array]] = []

    def add(self, columns: Mapping[str, Array], ids: Array) -> None:
        """Add rows, given as columns, that had these ids; UNKNOWN where the file has none."""
        if not self._waiting and np.all(ids == UNKNOWN):
            self._builder.add(MARKERS, columns)
        elif len(ids):
            self._waiting.append({**columns, "id": ids})

    def finish(self) -> None:
        """Add what waits, in order of the ids; ids that cannot be are given anew."""
        if not self._waiting:
            return
        names = dict.fromkeys(name for part in self._waiting for name in part)
        rows = {
            name: np.concatenate([_column(part, name) for part in self._waiting]) for name in names
        }
        order = np.argsort(rows["id"], kind="stable")
        rows = {name: values[order] for name, values in rows.items()}
        ids = rows["id"]
        are_ids = ids[0] > self._builder.row_count(MARKERS) and bool(np.all(ids[1:] > ids[:-1]))
        if not are_ids:
            self._builder.notes.add("ids of markers are damaged: given anew")
            del rows["id"]
        self._builder.add(MARKERS, rows)


def _column(part: Mapping[str, Array], name: str) -> Array:
    """A column of rows, unknown where they have none."""
    if name in part:
        return part[name]
    missing = float("nan") if name == "payload" else UNKNOWN
    return np.full(len(part["id"]), missing)
