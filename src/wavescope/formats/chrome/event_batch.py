"""Columns of Chrome trace events, and the rows that they become.

Complete events are rows, and so are begins and ends that were matched: per process and thread, an
end closes the innermost open begin.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.arrays import Array
from wavescope.model.builder import TraceBuilder
from wavescope.model.progress import Notes

BATCH_EVENTS = 1 << 16

HAS_START = 1
HAS_DURATION = 2
BINDS_ENCLOSING = 4
HAS_ARGS = 8
GRID_IS_TEXT = 16

ID_NONE = 0
ID_NUMBER = 1
ID_TEXT = 2

OWN_MEMBER = "wavescope"
"""The top-level member of our own exports with tables, and the argument of names with tracks."""
OWN_NOTES_MEMBER = "wavescope notes"
"""The last member of our own exports: what was noted of the trace while it was written."""

OWN_ARGUMENTS = (
    "sequence",
    "process_id",
    "thread_id",
    "hardware_queue",
    "kernel",
    "scratch_bytes",
    "source_device",
    "target_device",
    "marker",
)
"""Arguments of ops and markers that only our own exports have."""

ARGUMENTS = (
    "correlation",
    "external_id",
    "device",
    "stream",
    "queue",
    "context",
    "bytes",
    "graph_id",
    "graph_node_id",
    "registers",
    "shared_memory",
    "grid_x",
    "grid_y",
    "grid_z",
    "block_x",
    "block_y",
    "block_z",
    *OWN_ARGUMENTS,
)
"""The integers taken from an event's args; -1 where it has none."""

COLUMN_TYPES: dict[str, type[np.generic]] = {
    "phase": np.uint8,
    "flags": np.uint8,
    "id_kind": np.uint8,
    "name": np.int32,
    "category": np.int32,
    "kind": np.int32,
    "process": np.int32,
    "thread": np.int32,
    "id": np.int64,
    "start_ns": np.int64,
    "duration_ns": np.int64,
    "args_end": np.int64,
}
"""The other columns: codes are -1 and times 0 where the event has none."""
ROW_COLUMNS = (*(name for name in COLUMN_TYPES if name != "args_end"), *ARGUMENTS)
_LONGEST_NS = (1 << 63) - 1
BEGIN_PHASE = ord("B")
END_PHASE = ord("E")

_PHASE, _FLAGS, _PROCESS, _THREAD, _START, _DURATION = map(
    ROW_COLUMNS.index, ("phase", "flags", "process", "thread", "start_ns", "duration_ns")
)


@dataclass(frozen=True)
class EventBatch:
    """Events in file order; the arrays are overwritten when the next batch is read.

    `columns` holds everything in COLUMN_TYPES and ARGUMENTS. `name`, `category` and `kind` are
    codes of `EventTables.texts`, `process` and `thread` codes of `EventTables.keys`; `id` is the
    number itself (`id_kind` ID_NUMBER) or one that stands for a text, the same for equal texts
    (ID_TEXT).
    """

    rows: int
    columns: dict[str, npt.NDArray[Any]]
    args: bytes
    """The kept args texts one after the other; column `args_end` says where each one ends."""

    def __getitem__(self, name: str) -> npt.NDArray[Any]:
        return self.columns[name]


@dataclass
class EventCounts:
    """What was read, and what had to be skipped or repaired."""

    events: int = 0
    not_objects: int = 0
    replaced_texts: int = 0
    unusable_times: int = 0
    dropped_metadata: int = 0
    has_events: bool = False
    is_array: bool = False
    truncated: bool = False


@dataclass
class EventTables:
    """What the codes of batches stand for; grows with every batch."""

    texts: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)
    """Processes and threads: "n397" for the number 397, "s397" for the string."""
    metadata: dict[str, str] = field(default_factory=dict)
    """JSON texts of the file's top-level members other than the events."""
    counts: EventCounts = field(default_factory=EventCounts)


class MalformedEventsError(Exception):
    """The input is no JSON of events: `reason`, found at byte `offset`."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(f"{reason} (at byte {offset:,})")
        self.reason = reason
        self.offset = offset


def json_object(text: bytes | str) -> dict[str, Any]:
    """The object that `text` spells; an empty one when it spells none."""
    value = json_value(text) if text else None
    return value if isinstance(value, dict) else {}


def json_value(text: bytes | str) -> Any:
    """What `text` spells, None when it is no JSON."""
    try:
        return orjson.loads(text)
    except orjson.JSONDecodeError:
        return _read_leniently(text)


def whole_number(value: object) -> int:
    """A number of the file, -1 where it is none that fits."""
    return value if type(value) is int and abs(value) < _LONGEST_NS >> 1 else -1


def _read_leniently(text: bytes | str) -> Any:
    """What JSON does not allow but profilers write, such as NaN and unpaired surrogates."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None


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


class OpenSlices:
    """What has begun and not yet ended, per process and thread."""

    def __init__(self) -> None:
        self._stacks: dict[tuple[int, int], list[list[int]]] = {}
        self.unmatched_ends = 0
        self.last_ns = 0
        """The latest begin or end seen."""

    def take(self, rows: EventRows) -> list[list[int]]:
        """Follow the begins and ends among `rows`; the slices that were closed, for closed_rows."""
        phase, has_start = rows["phase"], (rows["flags"] & HAS_START) != 0
        rows = rows.where(((phase == BEGIN_PHASE) | (phase == END_PHASE)) & has_start)
        if not len(rows):
            return []
        columns = [*(rows[name].astype(np.int64) for name in ROW_COLUMNS), rows.args]
        self.last_ns = max(self.last_ns, int(rows["start_ns"].max()))
        closed: list[list[int]] = []
        for values in np.stack(columns, axis=1).tolist():
            track = values[_PROCESS], values[_THREAD]
            if values[_PHASE] == BEGIN_PHASE:
                self._stacks.setdefault(track, []).append(values)
            elif stack := self._stacks.get(track):
                closed.append(_closed(stack.pop(), values[_START]))
            else:
                self.unmatched_ends += 1
        return closed

    def close_all(self) -> list[list[int]]:
        """What never ended, ended at the last time seen."""
        remaining = [values for stack in self._stacks.values() for values in stack]
        self._stacks.clear()
        return [_closed(values, self.last_ns) for values in remaining]


def _closed(values: list[int], end_ns: int) -> list[int]:
    values[_DURATION] = min(max(end_ns - values[_START], -_LONGEST_NS), _LONGEST_NS)
    values[_FLAGS] |= HAS_DURATION
    return values
