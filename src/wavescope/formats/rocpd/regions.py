"""Host activity of a rocpd file: API calls, memory allocations, roctx ranges and marks.

Calls and ranges lie in one table; the category of a row's event tells which it is, and the text of
a range is in the event's additional data.
"""

from __future__ import annotations

from collections.abc import Iterator

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
    whole,
)
from wavescope.formats.rocprofv3.rows import MARKER_CATEGORY, api_of_kind
from wavescope.formats.sqlite.lookup import ValueByKey
from wavescope.formats.sqlite.rows import (
    NO_TIME,
    Field,
    FieldKind,
    Given,
    Reading,
    kept,
    repaired,
)
from wavescope.formats.sqlite.strings import RowsById
from wavescope.model.columns import CALLS, MARKER_INSTANT, MARKERS, UNKNOWN
from wavescope.model.op_kinds import MARKER_TYPE

_EVENT = Field("event_id")
_NAME = Field("name_id", FieldKind.STRING_ID)
_MESSAGE_LIMIT_BYTES = 4 << 20
_MESSAGE = f"CASE WHEN length(extdata) <= {_MESSAGE_LIMIT_BYTES} THEN CAST(extdata AS BLOB) END"


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
