"""Events that became rows: complete events and matched begin/end pairs look the same here."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.chrome.event_batch import (
    ARGUMENTS,
    COLUMN_TYPES,
    HAS_DURATION,
    HAS_START,
    EventBatch,
)
from wavescope.model.builder import TraceBuilder
from wavescope.model.notes import Notes

ROW_COLUMNS = (*(name for name in COLUMN_TYPES if name != "args_end"), *ARGUMENTS)


class EventRows:
    """Some events: columns by name, args as handles of the builder's texts."""

    def __init__(
        self,
        columns: Mapping[str, npt.NDArray[Any]],
        args: npt.NDArray[np.int64],
        rows: npt.NDArray[np.intp] | None = None,
    ) -> None:
        self._columns = columns
        self._args = args
        self._rows = rows

    def __len__(self) -> int:
        return len(self._args if self._rows is None else self._rows)

    def __getitem__(self, name: str) -> Array:
        column = self._columns[name]
        return column if self._rows is None else column[self._rows]

    @property
    def args(self) -> npt.NDArray[np.int64]:
        """The handles of the events' args texts."""
        return self._args if self._rows is None else self._args[self._rows]

    @property
    def places(self) -> npt.NDArray[np.intp]:
        """Where the rows are among all events of their batch."""
        return np.arange(len(self._args)) if self._rows is None else self._rows

    def where(self, mask: npt.NDArray[np.bool_]) -> EventRows:
        """The rows of which `mask` is true; no copies unless asked for columns."""
        rows = np.flatnonzero(mask)
        return EventRows(
            self._columns, self._args, rows if self._rows is None else self._rows[rows]
        )


def batch_rows(batch: EventBatch, builder: TraceBuilder) -> EventRows:
    """All events of `batch`, their args stored with the builder."""
    if not batch.args:
        return EventRows(batch.columns, np.full(batch.rows, -1, np.int64))
    ends = np.asarray(batch["args_end"], np.int64)
    starts = np.concatenate(([0], ends[:-1]))
    with_text = np.flatnonzero(ends > starts)
    # Only texts that are there take a place in the builder's index.
    stored = builder.add_text_blob(batch.args, np.concatenate(([0], ends[with_text])))
    handles = np.full(batch.rows, -1, np.int64)
    handles[with_text] = stored
    return EventRows(batch.columns, handles)


def timed(rows: EventRows, notes: Notes) -> EventRows:
    """The rows that have a time stamp; the others are noted."""
    flags = rows["flags"]
    has_start = (flags & HAS_START) != 0
    notes.add("events without a usable time stamp were skipped", len(flags) - int(has_start.sum()))
    return rows if has_start.all() else rows.where(has_start)


def note_missing_durations(rows: EventRows, notes: Notes) -> None:
    """Count complete events that do not say how long they took: they become zero-length."""
    missing = (rows["flags"] & HAS_DURATION) == 0
    notes.add("events without a duration were read as zero-length", missing.sum())


def closed_rows(closed: list[list[int]]) -> EventRows:
    """Matched begin/end pairs as rows: values in the order of ROW_COLUMNS, then the args handle."""
    table = np.array(closed, np.int64).reshape(-1, len(ROW_COLUMNS) + 1)
    columns = {
        name: table[:, index].astype(COLUMN_TYPES.get(name, np.int64))
        for index, name in enumerate(ROW_COLUMNS)
    }
    return EventRows(columns, table[:, -1])
