"""Turns track events into rows: strings looked up, arguments in columns, tracks as places.

Beginnings and ends of slices are paired.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from wavescope.arrays import Array
from wavescope.formats.numbered_markers import payload_bits
from wavescope.formats.perfetto.events import (
    INTERNED_ARGUMENT,
    NUMBER_ARGUMENT,
    TEXT_ARGUMENT,
    TrackEvents,
)
from wavescope.formats.perfetto.packet import Sequence
from wavescope.formats.perfetto.protobuf import (
    EventType,
    Interned,
)
from wavescope.formats.perfetto.rocprofv3_arguments import NUMBERS as ROCPROFV3_NUMBERS
from wavescope.formats.perfetto.rocprofv3_arguments import TEXTS as ROCPROFV3_TEXTS
from wavescope.formats.perfetto.tracks import Tracks
from wavescope.formats.protobuf_wire import text_of
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import CALLS, OPS, UNKNOWN, ColumnType

Int64s = npt.NDArray[np.int64]
Rows = dict[str, Array]

_AXES = ("x", "y", "z")
_SIZES = ("grid", "workgroup")
_NUMBERS = {
    column.name: column.type
    for table in (OPS, CALLS)
    for column in table.columns
    if column.type in (ColumnType.INT64, ColumnType.INT32)
    and column.name not in ("id", "gpu", "queue", "start_ns", "end_ns", "pid")
} | {"unclosed": ColumnType.INT32}
_STRINGS = ("full_name", "domain", "type", "subcategory")
_PLACE = ("is_queue", "gpu", "queue", "process", "pid", "thread")
_LARGEST_INT32 = (1 << 31) - 1


class RowResolver:
    """Makes rows of events, with the strings and tracks known when it is asked."""

    def __init__(
        self, builder: TraceBuilder, sequences: Mapping[int, Sequence], tracks: Tracks
    ) -> None:
        self._builder = builder
        self._sequences = sequences
        self._tracks = tracks

    def rows(self, events: TrackEvents) -> Rows:
        """Columns with a value for each event; absent columns are unknown for all."""
        rows: Rows = {"start_ns": events["timestamp"].copy(), "track": events["track"].copy()}
        rows |= self._places(events["track"])
        rows["name"] = self._names(events)
        rows["category"] = self._interned(events, Interned.EVENT_CATEGORIES, "category")
        rows["second_category"] = self._interned(
            events, Interned.EVENT_CATEGORIES, "second_category"
        )
        self._add_arguments(events, rows)
        return rows

    def _places(self, tracks: Int64s) -> Rows:
        uuids, which = np.unique(tracks, return_inverse=True)
        places = [self._tracks.place(uuid) for uuid in uuids.tolist()]
        return {
            name: np.array([getattr(place, name) for place in places], np.int64)[which]
            for name in _PLACE
        }

    def _names(self, events: TrackEvents) -> Int64s:
        names = self._interned(events, Interned.EVENT_NAMES, "name")
        given = np.flatnonzero(events["name_offset"] >= 0)
        code = self._builder.strings.code
        for row in given.tolist():
            text = events.text(int(events["name_offset"][row]), int(events["name_size"][row]))
            names[row] = code(text_of(text))
        return names

    def _interned(self, events: TrackEvents, kind: int, column: str) -> Int64s:
        code = self._builder.strings.code
        return self._looked_up(events["sequence"], events[column], kind, code)

    def _looked_up(
        self,
        sequences: Int64s,
        numbers: Int64s,
        kind: int,
        meaning: Callable[[str], int],
    ) -> Int64s:
        """The meaning of the strings that `numbers` stand for in their sequences; 0 is none."""
        values = np.full(len(numbers), UNKNOWN, np.int64)
        for sequence in np.unique(sequences).tolist():
            state = self._sequences.get(sequence)
            mine = np.flatnonzero((sequences == sequence) & (numbers != 0))
            if state is None or not len(mine):
                continue
            strings = state.strings[kind]
            iids, which = np.unique(numbers[mine], return_inverse=True)
            meanings = [meaning(strings.get(iid, "")) for iid in iids.tolist()]
            values[mine] = np.array(meanings, np.int64)[which]
        return values

    def _add_arguments(self, events: TrackEvents, rows: Rows) -> None:
        row_of = events["argument_row"]
        if not len(row_of):
            return
        names = self._looked_up(
            events["sequence"][row_of],
            events["argument_name"],
            Interned.DEBUG_ANNOTATION_NAMES,
            self._builder.strings.code,
        )
        kinds = events["argument_kind"]
        for code in np.unique(names).tolist():
            name = self._builder.strings[code]
            for kind in (NUMBER_ARGUMENT, INTERNED_ARGUMENT, TEXT_ARGUMENT):
                chosen = np.flatnonzero((names == code) & (kinds == kind))
                if len(chosen):
                    self._add_argument(events, rows, name, kind, chosen)

    def _add_argument(
        self, events: TrackEvents, rows: Rows, name: str, kind: int, chosen: npt.NDArray[np.intp]
    ) -> None:
        at, values = events["argument_row"][chosen], events["argument_value"][chosen]
        strings = Interned.DEBUG_ANNOTATION_STRING_VALUES
        sequences = events["sequence"][at]
        if kind == NUMBER_ARGUMENT and name in _NUMBERS:
            if _NUMBERS[name] is ColumnType.INT32:
                values = np.where(np.abs(values) <= _LARGEST_INT32, values, UNKNOWN)
            if name in _PLACE:
                # Ops state the process and thread they come from; others are on their track's.
                on_queue = rows["is_queue"][at] != 0
                at, values = at[on_queue], values[on_queue]
            _column(rows, name)[at] = values
        elif kind == NUMBER_ARGUMENT and name in ROCPROFV3_NUMBERS:
            _column(rows, ROCPROFV3_NUMBERS[name])[at] = values
        elif kind == INTERNED_ARGUMENT and name in _STRINGS:
            _column(rows, name)[at] = self._looked_up(
                sequences, values, strings, self._builder.strings.code
            )
        elif kind == INTERNED_ARGUMENT and name == "payload":
            _column(rows, "payload_bits")[at] = self._looked_up(
                sequences, values, strings, payload_bits
            )
        elif kind == INTERNED_ARGUMENT and name in _SIZES:
            for index, axis in enumerate(_AXES):
                _column(rows, f"{name}_{axis}")[at] = self._looked_up(
                    sequences, values, strings, partial(_size, index=index)
                )
        elif kind == TEXT_ARGUMENT and (name == "args" or name in ROCPROFV3_TEXTS):
            sizes = events["argument_size"][chosen]
            texts = list(map(events.text, values.tolist(), sizes.tolist()))
            if name == "args":
                _column(rows, name)[at] = self._builder.add_texts(texts)
            else:
                codes = self._builder.strings.codes(list(map(text_of, texts)))
                _column(rows, ROCPROFV3_TEXTS[name])[at] = codes


def _column(rows: Rows, name: str) -> Array:
    if name not in rows:
        rows[name] = np.full(len(rows["start_ns"]), UNKNOWN, np.int64)
    return rows[name]


def _size(text: str, index: int) -> int:
    """The part of a text such as '256,1,1' at `index`, unknown where it is no such text."""
    parts = text.split(",")
    if len(parts) != len(_AXES) or len(text) > 64:
        return UNKNOWN
    try:
        value = int(parts[index])
    except ValueError:
        return UNKNOWN
    return value if abs(value) <= _LARGEST_INT32 << 31 else UNKNOWN


@dataclass
class Slices:
    """Whole slices and instants: rows with end_ns and is_instant, and the flows of each row."""

    rows: Rows
    flow_row: Int64s
    flow_id: Int64s


@dataclass
class _Open:
    row: Rows
    flows: list[int]


class SlicePairs:
    """Closes slices: an end belongs to the latest beginning still open on its track."""

    def __init__(self) -> None:
        self._open: defaultdict[int, list[_Open]] = defaultdict(list)
        self.ends_alone = 0
        """Ends without a beginning."""

    @property
    def begins_alone(self) -> int:
        """Beginnings without an end so far."""
        return sum(len(stack) for stack in self._open.values())

    def add(self, events: TrackEvents, rows: Rows) -> Slices:
        """The slices that the events complete."""
        types, tracks = events["type"], events["track"]
        begins = types == EventType.SLICE_BEGIN
        ends = types == EventType.SLICE_END
        rows["end_ns"] = rows["start_ns"].copy()
        rows["is_instant"] = (types == EventType.INSTANT).astype(np.int64)
        # An end right behind a beginning on its track closes it: in our own files, all of them.
        pairs = np.zeros(len(types), np.bool_)
        pairs[:-1] = begins[:-1] & ends[1:] & (tracks[:-1] == tracks[1:])
        closed = np.flatnonzero(pairs)
        rows["end_ns"][closed] = rows["start_ns"][closed + 1]
        done = pairs | (rows["is_instant"] != 0)
        rest = (begins | ends) & ~pairs
        rest[1:] &= ~pairs[:-1]
        finished = self._pair_by_stack(events, rows, np.flatnonzero(rest), done)
        return _joined(finished, _taken(events, rows, np.flatnonzero(done)))

    def _pair_by_stack(
        self,
        events: TrackEvents,
        rows: Rows,
        rest: npt.NDArray[np.intp],
        done: npt.NDArray[np.bool_],
    ) -> list[Slices]:
        """Follow every track's stack over the rows `rest`, marking what is `done`.

        Returns slices that began in earlier events.
        """
        stacks: defaultdict[int, list[int]] = defaultdict(list)
        finished: list[Slices] = []
        for row in rest.tolist():
            track, time_ns = int(events["track"][row]), int(rows["start_ns"][row])
            if events["type"][row] == EventType.SLICE_BEGIN:
                stacks[track].append(row)
            elif stacks[track]:
                begin = stacks[track].pop()
                rows["end_ns"][begin] = time_ns
                done[begin] = True
            elif self._open[track]:
                finished.append(_finished(self._open[track].pop(), time_ns))
            else:
                self.ends_alone += 1
        for track, stack in stacks.items():
            self._open[track].extend(_held(events, rows, row) for row in stack)
        return finished


def _held(events: TrackEvents, rows: Rows, row: int) -> _Open:
    first, stop = np.searchsorted(events["flow_row"], (row, row + 1))
    flows = events["flow_id"][first:stop].tolist()
    return _Open({name: column[row : row + 1].copy() for name, column in rows.items()}, flows)


def _finished(held: _Open, end_ns: int) -> Slices:
    held.row["end_ns"][0] = end_ns
    flows = np.array(held.flows, np.int64)
    return Slices(held.row, np.zeros(len(flows), np.int64), flows)


def _taken(events: TrackEvents, rows: Rows, kept: npt.NDArray[np.intp]) -> Slices:
    """The rows `kept`, with flows renumbered to them."""
    new_row = np.full(len(events), UNKNOWN, np.int64)
    new_row[kept] = np.arange(len(kept))
    flow_row = new_row[events["flow_row"]]
    known = flow_row >= 0
    return Slices(
        {name: column[kept] for name, column in rows.items()},
        flow_row[known],
        events["flow_id"][known],
    )


def _joined(parts: list[Slices], last: Slices) -> Slices:
    if not parts:
        return last
    parts = [*parts, last]
    names = dict.fromkeys(name for part in parts for name in part.rows)
    counts = [len(part.rows["start_ns"]) for part in parts]
    rows = {
        name: np.concatenate(
            [
                part.rows.get(name, np.full(count, UNKNOWN, np.int64))
                for part, count in zip(parts, counts, strict=True)
            ]
        )
        for name in names
    }
    firsts = np.cumsum([0, *counts[:-1]])
    shifted = [part.flow_row + first for part, first in zip(parts, firsts.tolist(), strict=True)]
    return Slices(rows, np.concatenate(shifted), np.concatenate([part.flow_id for part in parts]))
