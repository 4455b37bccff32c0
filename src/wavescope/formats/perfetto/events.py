"""Track events of Perfetto packets as columns: runs of plain ones natively, others one by one."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wavescope.formats.perfetto.protobuf import (
    Annotation,
    Event,
)
from wavescope.formats.protobuf_wire import (
    DamagedMessageError,
    fields,
    signed,
    varint_at,
)
from wavescope.native import Int64, TrackEventColumns, columns_library, pointer

Int64s = npt.NDArray[np.int64]

ROW_COLUMNS = (
    "timestamp",
    "track",
    "sequence",
    "type",
    "name",
    "name_offset",
    "name_size",
    "category",
    "second_category",
)
FLOW_COLUMNS = ("flow_row", "flow_id")
ARGUMENT_COLUMNS = (
    "argument_row",
    "argument_name",
    "argument_kind",
    "argument_value",
    "argument_size",
)
NUMBER_ARGUMENT, INTERNED_ARGUMENT, TEXT_ARGUMENT = 0, 1, 2


class Stop(enum.IntEnum):
    """Why the native reader stopped; see native/trace_encoder/trace_encoder.h."""

    END = 0
    FULL = 1
    OTHER = 2
    DAMAGED = 3


@dataclass
class TrackEvents:
    """Events by column; offsets of names and texts are into `data`."""

    columns: dict[str, Int64s]
    data: bytes

    def __len__(self) -> int:
        return len(self.columns["timestamp"])

    def __getitem__(self, column: str) -> Int64s:
        return self.columns[column]

    def text(self, offset: int, size: int) -> bytes:
        """A text that lies in the packets."""
        return self.data[offset : offset + size]


class EventLists:
    """Collects events one by one, for packets that the native reader leaves alone."""

    def __init__(self) -> None:
        self._lists: dict[str, list[int]] = {}
        self._data = bytearray()
        self.take()

    def __len__(self) -> int:
        return len(self._lists["timestamp"])

    def add(self, event: memoryview, timestamp: int, sequence: int, default_track: int) -> None:
        """Append a TrackEvent message; DamagedMessageError leaves nothing behind."""
        row = _EventRow(track=default_track)
        for number, _, value in fields(event):
            row.take(number, value)
        values = {
            "timestamp": timestamp,
            "sequence": sequence,
            "track": row.track,
            "type": row.type,
            "name": row.name,
            "name_offset": -1 if row.name_text is None else len(self._data),
            "name_size": 0 if row.name_text is None else len(row.name_text),
            "category": row.categories[0] if row.categories else 0,
            "second_category": row.categories[1] if len(row.categories) > 1 else 0,
        }
        index = len(self)
        if row.name_text is not None:
            self._data += row.name_text
        for name in ROW_COLUMNS:
            self._lists[name].append(values[name])
        self._lists["flow_row"].extend([index] * len(row.flows))
        self._lists["flow_id"].extend(row.flows)
        for argument_name, kind, content in row.arguments:
            if isinstance(content, bytes):
                stored = (index, argument_name, kind, len(self._data), len(content))
                self._data += content
            else:
                stored = (index, argument_name, kind, content, 0)
            for name, number in zip(ARGUMENT_COLUMNS, stored, strict=True):
                self._lists[name].append(number)

    def take(self) -> TrackEvents:
        """What was collected, which is then forgotten."""
        columns = {name: np.array(values, np.int64) for name, values in self._lists.items()}
        events = TrackEvents(columns, bytes(self._data))
        self._lists = {name: [] for name in (*ROW_COLUMNS, *FLOW_COLUMNS, *ARGUMENT_COLUMNS)}
        self._data = bytearray()
        return events


@dataclass
class _EventRow:
    track: int
    type: int = 0
    name: int = 0
    name_text: bytes | None = None
    categories: list[int] = field(default_factory=list)
    flows: list[int] = field(default_factory=list)
    arguments: list[tuple[int, int, int | bytes]] = field(default_factory=list)

    def take(self, number: int, value: int | memoryview) -> None:
        if isinstance(value, int):
            self._take_number(number, signed(value))
        elif number == Event.CATEGORY_IIDS:
            position = 0
            while position < len(value):
                category, position = varint_at(value, position, len(value))
                self.categories.append(signed(category))
        elif number == Event.NAME:
            self.name_text = bytes(value)
        elif number in (Event.FLOW_IDS, Event.TERMINATING_FLOW_IDS):
            if len(value) % 8:
                raise DamagedMessageError
            self.flows.extend(np.frombuffer(value, "<i8").tolist())
        elif number == Event.DEBUG_ANNOTATIONS:
            self._take_argument(value)

    def _take_number(self, number: int, value: int) -> None:
        if number == Event.TYPE:
            self.type = value
        elif number == Event.NAME_IID:
            self.name = value
        elif number == Event.TRACK_UUID:
            self.track = value
        elif number == Event.CATEGORY_IIDS:
            self.categories.append(value)
        elif number in (Event.FLOW_IDS, Event.TERMINATING_FLOW_IDS):
            self.flows.append(value)

    def _take_argument(self, annotation: memoryview) -> None:
        name = 0
        found: tuple[int, int | bytes] | None = None
        for number, _, value in fields(annotation):
            if isinstance(value, memoryview):
                if number == Annotation.STRING_VALUE:
                    found = (TEXT_ARGUMENT, bytes(value))
            elif number == Annotation.NAME_IID:
                name = signed(value)
            elif number in (Annotation.BOOL_VALUE, Annotation.UINT_VALUE, Annotation.INT_VALUE):
                found = (NUMBER_ARGUMENT, signed(value))
            elif number == Annotation.STRING_VALUE_IID:
                found = (INTERNED_ARGUMENT, signed(value))
        if name and found is not None:
            self.arguments.append((name, *found))


class NativeEvents:
    """Reads runs of plain event packets; its arrays are used again for every run."""

    def __init__(self, rows: int = 1 << 16) -> None:
        self._library = columns_library()
        self._resize(rows)

    def read(self, data: bytes, position: int) -> tuple[TrackEvents, int, int, Stop]:
        """Events from `position` on, how many counter events, where and why reading stopped."""
        view = np.frombuffer(data, np.uint8)
        while True:
            structure = TrackEventColumns(
                capacity=self._rows,
                flow_capacity=self._rows,
                argument_capacity=4 * self._rows,
                **{name: pointer(array, np.int64) for name, array in self._arrays.items()},
            )
            end = Int64(position)
            stop = Stop(self._library.wavescope_perfetto_events(view, len(data), end, structure))
            if stop is not Stop.FULL or end.value > position:
                break
            # One packet with more flows or arguments than fit.
            self._resize(2 * self._rows)
        sizes = (
            (ROW_COLUMNS, structure.rows),
            (FLOW_COLUMNS, structure.flows),
            (ARGUMENT_COLUMNS, structure.arguments),
        )
        columns = {name: self._arrays[name][:size] for names, size in sizes for name in names}
        return TrackEvents(columns, data), structure.counters, end.value, stop

    def _resize(self, rows: int) -> None:
        self._rows = rows
        self._arrays = {
            name: np.empty(rows * (4 if name in ARGUMENT_COLUMNS else 1), np.int64)
            for name in (*ROW_COLUMNS, *FLOW_COLUMNS, *ARGUMENT_COLUMNS)
        }
