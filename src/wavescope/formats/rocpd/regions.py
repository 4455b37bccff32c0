"""Host activity of a rocpd file: API calls, memory allocations, roctx ranges and marks.

Calls and ranges lie in one table; the category of a row's event tells which it is, and the text of
a range is in the event's additional data. Arguments are found when somebody asks for them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cached_property
from itertools import groupby
from operator import itemgetter
from typing import Any

import numpy as np
import numpy.typing as npt
import orjson

from wavescope.formats.rocpd.part import (
    ALLOCATIONS,
    ARGUMENTS,
    EVENTS,
    REGIONS,
    SAMPLES,
    TRACKS,
    Part,
    text,
    whole,
)
from wavescope.formats.rocprofv3 import MARKER_CATEGORY, api_of_kind
from wavescope.formats.sqlite.lookup import RowsById, ValueByKey
from wavescope.formats.sqlite.rows import NO_TIME, Field, FieldKind, Given, Reading, kept, repaired
from wavescope.formats.sqlite.sqlite_open import quoted
from wavescope.model.columns import CALLS, MARKER_INSTANT, MARKERS, UNKNOWN
from wavescope.model.op_kinds import MARKER_TYPE

_EVENT = Field("event_id")
_NAME = Field("name_id", FieldKind.STRING_ID)
_MESSAGE_LIMIT_BYTES = 4 << 20
_MESSAGE = f"CASE WHEN length(extdata) <= {_MESSAGE_LIMIT_BYTES} THEN CAST(extdata AS BLOB) END"
_STRIDE = 4096


def read_calls(part: Part, reading: Reading) -> Iterator[Given]:
    """The API calls of a process."""
    has_arguments = part.source.largest_id(part.table(ARGUMENTS)) > 0
    fields = _host_fields(reading) | ({"name": _NAME} if reading.wants("name") else {})
    for regions in part.read(REGIONS, fields, reading):
        given = dict(kept(regions, ~part.is_marker(regions["event"])))
        _resolve_call(part, given, reading)
        given["id"] = given["id"] + part.first_id[CALLS.name, REGIONS]
        if has_arguments:
            given["args"] = given["id"]
        yield given


def read_allocations(part: Part, reading: Reading) -> Iterator[Given]:
    """The memory allocations of a process, as calls."""
    fields = _host_fields(reading)
    if reading.wants("stream"):
        fields["stream"] = Field("stream_id")
    if reading.wants("name"):
        fields |= {"type": Field("type", FieldKind.NAME), "level": Field("level", FieldKind.NAME)}
    for given in part.read(ALLOCATIONS, fields, reading):
        _resolve_call(part, given, reading)
        given["args"] = given["id"] = given["id"] + part.first_id[CALLS.name, ALLOCATIONS]
        if "level" in given:
            given["name"] = _allocation_names(part, given["level"], given["type"])
        yield given


def read_ranges(part: Part, reading: Reading) -> Iterator[Given]:
    """The roctx ranges of a process."""
    if not len(part.marker_categories):
        return
    for regions in part.read(REGIONS, _host_fields(reading) | {"name": _NAME}, reading):
        given = dict(kept(regions, part.is_marker(regions["event"])))
        _resolve_threads(part, given)
        given["id"] = given["id"] + part.first_id[MARKERS.name, REGIONS]
        yield _as_markers(part, given, reading)


def read_marks(part: Part, reading: Reading) -> Iterator[Given]:
    """The roctx marks of a process, which are samples on a track."""
    if not len(part.marker_categories):
        return
    tracks = list(part.rows(TRACKS, "id", "pid", "tid", "name_id"))
    process_of, thread_of, name_of = (
        ValueByKey.of({whole(track[0]): whole(track[place]) for track in tracks})
        for place in (1, 2, 3)
    )
    fields = {
        "id": Field("id"),
        "event": _EVENT,
        "track": Field("track_id"),
        "start_ns": Field("timestamp", missing=NO_TIME),
    }
    last_id = 0
    for samples in part.source.read_rows(part.table(SAMPLES), fields, reading):
        given = dict(kept(samples, part.is_marker(samples["event"])))
        given = dict(repaired({**given, "end_ns": given["start_ns"]}, last_id, reading.tally))
        if not len(given["id"]):
            continue
        last_id = int(given["id"][-1])
        given["pid"] = process_of.find(given["track"])
        given["thread"] = thread_of.find(given["track"])
        given["name"], _ = part.codes.codes(name_of.find(given["track"]))
        _resolve_threads(part, given)
        given["id"] = given["id"] + part.first_id[MARKERS.name, SAMPLES]
        yield _as_markers(part, given, reading)


def _host_fields(reading: Reading) -> dict[str, Field]:
    fields = {"event": _EVENT}
    if reading.wants("process", "pid"):
        fields["pid"] = Field("pid")
    if reading.wants("thread"):
        fields["thread"] = Field("tid")
    return fields


def _resolve_threads(part: Part, given: Given) -> None:
    """Replaces the file's ids of process and thread by what they stand for."""
    if "pid" in given:
        given["process"] = part.process_numbers.find(given["pid"])
        given["pid"] = part.pids.find(given["pid"])
    if "thread" in given:
        given["thread"] = part.threads.find(given["thread"])


def _resolve_call(part: Part, given: Given, reading: Reading) -> None:
    """Adds what a call's event tells: category, domain, correlation."""
    _resolve_threads(part, given)
    if reading.wants("category", "domain"):
        given["category"], _ = part.codes.codes(part.event_values(given["event"], "category_id"))
        given["domain"] = _domains(part, given["category"])
    if reading.wants("correlation"):
        given["correlation"] = part.event_values(given["event"], "stack_id")


def _domains(part: Part, categories: npt.NDArray[np.int32]) -> npt.NDArray[np.int32]:
    """The API of each category: HIP for HIP_RUNTIME_API, and so on."""
    strings = part.source.strings
    distinct, places = np.unique(categories, return_inverse=True)
    domains = [
        strings.code(api_of_kind(strings[code])) if code != UNKNOWN else UNKNOWN
        for code in distinct.tolist()
    ]
    return np.array(domains, np.int32)[places]


def _allocation_names(
    part: Part, levels: npt.NDArray[np.int32], kinds: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """Names as rocprofv3 prints them: MEMORY_ALLOCATION_ALLOCATE, SCRATCH_MEMORY_FREE, ..."""
    strings = part.source.strings
    pairs, places = np.unique(np.stack((levels, kinds)), axis=1, return_inverse=True)
    names = [_allocation_name(strings[level], strings[kind]) for level, kind in pairs.T.tolist()]
    return strings.codes(names)[places.reshape(-1)]


def _allocation_name(level: str, kind: str) -> str:
    if level == "SCRATCH":
        return f"SCRATCH_MEMORY_{'ASYNC_RECLAIM' if kind == 'RECLAIM' else kind}"
    prefix = "MEMORY_ALLOCATION_VMEM" if level == "VIRTUAL" else "MEMORY_ALLOCATION"
    return f"{prefix}_{'ALLOCATE' if kind == 'ALLOC' else kind}"


def _as_markers(part: Part, given: Given, reading: Reading) -> Given:
    strings = part.source.strings
    count = len(given["id"])
    if reading.wants("name"):
        given["name"] = _with_messages(part, given["event"], given["name"])
    given["type"] = np.full(count, strings.code(MARKER_TYPE))
    given["category"] = np.full(count, strings.code(MARKER_CATEGORY))
    given["flags"] = np.where(given["start_ns"] == given["end_ns"], MARKER_INSTANT, 0)
    return given


def _with_messages(
    part: Part, events: npt.NDArray[np.int64], names: npt.NDArray[np.int32]
) -> npt.NDArray[np.int32]:
    """The code of each event's message; the name of the roctx function where it has none."""
    table = part.table(EVENTS)
    if not part.source.has_column(table, "extdata"):
        return names
    rows = RowsById(part.source.connection, table)
    found: dict[int, int] = {}
    for event, stored in rows.fetch(np.unique(events[events >= 0]), (_MESSAGE,)):
        message = _message(stored)
        if message is not None:
            found[event] = part.source.strings.code(message)
    messages = ValueByKey.of(found).find(events)
    return np.where(messages == UNKNOWN, names, messages).astype(np.int32)


def _message(stored: bytes | None) -> str | None:
    if stored is None:
        return None
    try:
        facts = orjson.loads(stored.decode("utf-8", "replace"))
    except orjson.JSONDecodeError:
        return None
    message = facts.get("message") if isinstance(facts, dict) else None
    return message if isinstance(message, str) else None


class Arguments:
    """The argument texts of one process.

    The file has no index on them. They are written event by event, so it is enough to remember
    where every few thousandth row stands; a file in another order is searched from end to end.
    """

    def __init__(self, part: Part) -> None:
        self._part = part
        self._source = part.source

    def of_calls(self, ids: npt.NDArray[np.int64]) -> dict[int, str]:
        """The arguments of API calls by their id in the file; `ids` increase."""
        table = self._part.table(REGIONS)
        if not self._source.has_column(table, "event_id"):
            return {}
        rows = RowsById(self._source.connection, table)
        event_of = {
            own_id: event
            for own_id, event in rows.fetch(ids, ("event_id",))
            if isinstance(event, int)
        }
        by_event = self._of_events(np.unique(np.array(list(event_of.values()), np.int64)))
        return {own_id: by_event[event] for own_id, event in event_of.items() if event in by_event}

    def of_allocations(self, ids: npt.NDArray[np.int64]) -> dict[int, str]:
        """What allocations say of themselves by their id in the file; `ids` increase."""
        table = self._part.table(ALLOCATIONS)
        columns = [name for name in ("size", "address") if self._source.has_column(table, name)]
        if not columns:
            return {}
        rows = RowsById(self._source.connection, table)
        return {
            own_id: _json(zip(columns, values, strict=True))
            for own_id, *values in rows.fetch(ids, columns)
        }

    def _of_events(self, events: npt.NDArray[np.int64]) -> dict[int, str]:
        wanted = set(events.tolist())
        return {
            event: _json((name, value) for _, name, value in rows)
            for event, rows in groupby(self._rows_near(events), itemgetter(0))
            if event in wanted
        }

    def _rows_near(self, events: npt.NDArray[np.int64]) -> Iterator[tuple[Any, ...]]:
        """(event, name, value) by event and position, among others all those of `events`."""
        table = self._part.table(ARGUMENTS)
        if not len(events) or not self._source.has_column(table, "event_id"):
            return
        rowids, first_events = self._marks
        statement = self._statement(table)
        if not len(rowids):
            yield from self._source.connection.execute(statement, (-(2**63), 2**63 - 1))
            return
        # From the last mark before an event's first row to the first mark after its last one.
        begins = np.maximum(np.searchsorted(first_events, events, side="left") - 1, 0)
        ends = np.searchsorted(first_events, events, side="right")
        for begin, end in _joined(begins, ends):
            bounds = (int(rowids[begin]), int(rowids[end]) - 1 if end < len(rowids) else 2**63 - 1)
            yield from self._source.connection.execute(statement, bounds)

    def _statement(self, table: str) -> str:
        layout = self._source.layout(table)
        name, value, position = (
            quoted(column) if layout.column(column) else "NULL"
            for column in ("name", "value", "position")
        )
        return (
            f"SELECT event_id, CAST({name} AS TEXT), {value} FROM main.{quoted(table)}"  # noqa: S608
            f" WHERE {layout.rowid_expression()} BETWEEN ? AND ? ORDER BY event_id, {position}"
        )

    @cached_property
    def _marks(self) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """Rowid and event of every so many rows; none when the events are not in order."""
        rowids: list[int] = []
        first_events: list[int] = []
        last = -1
        fields = {"event": Field("event_id")}
        for given in self._source.read_rows(
            self._part.table(ARGUMENTS), fields, Reading(rows=_STRIDE)
        ):
            events = given["event"]
            if events[0] < last or (events[1:] < events[:-1]).any():
                return np.empty(0, np.int64), np.empty(0, np.int64)
            rowids.append(int(given["rowid"][0]))
            first_events.append(int(events[0]))
            last = int(events[-1])
        return np.array(rowids, np.int64), np.array(first_events, np.int64)


def _joined(
    begins: npt.NDArray[np.int64], ends: npt.NDArray[np.int64]
) -> Iterator[tuple[int, int]]:
    """Increasing ranges without overlap that cover the given ones."""
    begin, end = int(begins[0]), int(ends[0])
    for next_begin, next_end in zip(begins[1:].tolist(), ends[1:].tolist(), strict=True):
        if next_begin > end:
            yield begin, end
            begin = next_begin
        end = max(end, next_end)
    yield begin, end


def _json(pairs: Iterable[tuple[str | None, Any]]) -> str:
    return orjson.dumps(dict(pairs), default=text, option=orjson.OPT_NON_STR_KEYS).decode()
