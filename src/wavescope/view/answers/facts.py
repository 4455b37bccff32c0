"""Facts of one row as the page shows them, and links to other rows."""

from __future__ import annotations

from typing import Any

import numpy as np
import orjson

from wavescope.analyze.operators import launch_place
from wavescope.arrays import Array
from wavescope.errors import UsageError
from wavescope.model.columns import CALLS, LINKS, MARKERS, OPS, Table
from wavescope.model.trace import Trace, TraceTable
from wavescope.view.answers.places import Spot, spot_of
from wavescope.view.opening import TraceView
from wavescope.view.parts import Moments, Numbers, TraceParts, parts_of

_EXACT = 1 << 53
_LONGEST_ARGUMENTS = 1 << 16
_MOST_LINKS = 100
Fact = dict[str, Any]
Link = dict[str, Any]


def fact(name: str, value: str | int | float, unit: str = "") -> Fact:
    """A fact; whole numbers that a double does not hold come as text."""
    if isinstance(value, int) and not isinstance(value, bool) and abs(value) > _EXACT:
        value = str(value)
    return {"name": name, "value": value, **({"unit": unit} if unit else {})}


def known(name: str, value: int | str, unit: str = "") -> list[Fact]:
    """The fact, or none where the value is unknown."""
    is_unknown = value == "" if isinstance(value, str) else value < 0
    return [] if is_unknown else [fact(name, value, unit)]


def times(view: TraceView, start_ns: int, end_ns: int) -> list[Fact]:
    """When it was and how long it took."""
    first_ns = view.loaded.first_ns
    return [
        fact("start", start_ns - first_ns, "ns"),
        fact("end", end_ns - first_ns, "ns"),
        fact("duration", end_ns - start_ns, "ns"),
        fact("timestamp", str(start_ns), "ns"),
    ]


def one_row(parts: TraceParts, table: Table, number: int) -> TraceTable:
    """The table with the row `number` alone, in which all columns are loaded."""
    if not 0 <= number < len(parts.table(table)):
        raise UsageError(f"there is no row {number} in {table.name}")
    found = parts.trace({table: np.array([number], np.int64)}).table(table)
    found.load(*table.column_names)
    return found


def process_facts(trace: Trace, process: int, thread: int) -> list[Fact]:
    """Process, rank and thread."""
    facts: list[Fact] = []
    table = trace.processes
    places = np.flatnonzero(table["id"] == process)
    if process >= 0 and len(places):
        place = int(places[0])
        facts += known("process", int(table["pid"][place]))
        facts += known("program", trace.strings[int(table["name"][place])])
        facts += known("rank", int(table["rank"][place]))
        facts += known("host", trace.strings[int(table["host"][place])])
    elif process >= 0:
        facts.append(fact("process", process))
    return facts + known("thread", thread)


def arguments_of(text: str) -> dict[str, Any]:
    """Arguments by name, as far as they are JSON; else the text as it is."""
    if not text:
        return {}
    if len(text) > _LONGEST_ARGUMENTS:
        return {"text": text[:_LONGEST_ARGUMENTS], "left out": len(text) - _LONGEST_ARGUMENTS}
    try:
        document = orjson.loads(text)
    except orjson.JSONDecodeError:
        return {"text": text}
    return document if isinstance(document, dict) else {"text": text}


def links_to(view: TraceView, what: str, table: Table, rows: Array, likely: str = "") -> list[Link]:
    """Links to some rows of a table, the first of them if they are many."""
    shown = np.asarray(rows[:_MOST_LINKS], np.int64)
    stored = view.derived(parts_of).table(table)
    # Copies often have no name of their own: they are called by their type, as in the timeline.
    named = ("name", "type") if table is OPS else ("name", "name")
    found = stored.at(shown, tuple(dict.fromkeys(("start_ns", "end_ns", *named))))
    columns = (found[each].tolist() for each in ("start_ns", "end_ns", *named))
    strings = view.trace.strings
    return [
        {
            "table": table.name,
            "row": row,
            "what": what,
            "name": strings[name] or strings[kind],
            "start": start - view.loaded.first_ns,
            "duration": end - start,
            **spot_json(spot_of(view.loaded, table.name, row, start, likely)),
        }
        for row, start, end, name, kind in zip(shown.tolist(), *columns, strict=True)
    ]


def spot_json(spot: Spot) -> dict[str, Any]:
    """Where something is, for the page."""
    return {"rowId": spot.row_id, "depth": spot.depth}


def enclosing_markers(
    view: TraceView, start_ns: int, end_ns: int, process: int, thread: int
) -> list[Link]:
    """The ranges of a thread that something lies in, the outermost first.

    Those count that were open when it began, less those that began with it and ended before it.
    """
    parts = view.derived(parts_of)
    if not parts.source.row_count(MARKERS):
        return []
    moments = Moments(np.array([start_ns]), np.array([process]), np.array([thread]))
    rows, found = parts.table(MARKERS).open_at(moments, ("end_ns",))
    around = np.flatnonzero((found["start_ns"] < start_ns) | (found["end_ns"] >= end_ns))
    order = around[np.lexsort((-found["end_ns"][around], found["start_ns"][around]))]
    return _in_the_order(
        links_to(view, "marker", MARKERS, np.sort(rows[order[:_MOST_LINKS]])), rows[order]
    )


def _in_the_order(links: list[Link], rows: Array) -> list[Link]:
    place = {row: index for index, row in enumerate(rows.tolist())}
    return sorted(links, key=lambda link: place[link["row"]])


def launched_ops(view: TraceView, call_id: int) -> tuple[list[Link], int]:
    """The first ops that a call launched, and how many there are."""
    parts = view.derived(parts_of)
    link_rows = parts.links_of("call", np.array([call_id]))
    if not len(link_rows):
        return [], 0
    ids = np.unique(parts.table(LINKS).at(link_rows, ("op",))["op"])
    rows, _ = parts.table(OPS).with_ids(ids, ())
    return links_to(view, "op", OPS, rows), len(rows)


def around_rows(view: TraceView, calls: Numbers) -> dict[Table, Numbers]:
    """The rows of a call (or of none), of the calls around it and of the markers open then."""
    parts = view.derived(parts_of)
    nothing = np.empty(0, np.int64)
    if not len(calls):
        return {CALLS: nothing, MARKERS: nothing}
    markers = nothing
    if parts.source.row_count(MARKERS):
        begun = parts.table(CALLS).at(calls, ("start_ns", *Moments.names))
        moments = Moments(begun["start_ns"], *(begun[name] for name in Moments.names))
        markers, _ = parts.table(MARKERS).open_at(moments, ())
    return {CALLS: parts.calls_around(calls), MARKERS: markers}


def around_facts(trace: Trace, call_id: int) -> list[Fact]:
    """What a call of `trace`, which has what is around it, is part of; -1 for no call."""
    if call_id < 0:
        return []
    places = np.flatnonzero(trace.calls["id"] == call_id)
    place = launch_place(trace, int(places[0]))
    return [
        *known("operator", place.operator),
        *known("module", " > ".join(place.module_path)),
        *known("Python call site", place.site),
    ]
