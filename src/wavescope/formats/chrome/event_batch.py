"""Columns of Chrome trace events, and the args of single events as Python values."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

BATCH_EVENTS = 1 << 16

HAS_START = 1
HAS_DURATION = 2
BINDS_ENCLOSING = 4
HAS_ARGS = 8
GRID_IS_TEXT = 16

ID_NONE = 0
ID_NUMBER = 1
ID_TEXT = 2

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
    if not text:
        return {}
    try:
        value = orjson.loads(text)
    except orjson.JSONDecodeError:
        value = _read_leniently(text)
    return value if isinstance(value, dict) else {}


def _read_leniently(text: bytes | str) -> object:
    """What JSON does not allow but profilers write, such as NaN and unpaired surrogates."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return None
