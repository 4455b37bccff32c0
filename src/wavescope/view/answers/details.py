"""All that is known of one op, call or marker, and where what belongs to it is."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from wavescope.analyze.calls.call_tree import parent_calls
from wavescope.errors import UsageError
from wavescope.model.columns import CALLS, MARKER_INSTANT, MARKER_UNCLOSED, MARKERS
from wavescope.render.results.json_text import json_bytes
from wavescope.view.answers.facts import (
    arguments_of,
    around_facts,
    around_rows,
    enclosing_markers,
    fact,
    known,
    launched_ops,
    links_to,
    one_row,
    process_facts,
    spot_json,
    times,
)
from wavescope.view.answers.op_details import op_details
from wavescope.view.answers.places import spot_of
from wavescope.view.answers.question import Answer, Asked
from wavescope.view.opening import TraceView
from wavescope.view.parts import parts_of


def details(asked: Asked) -> Answer:
    """What is known of the row `row` of the table `table`."""
    view, table, row = asked.view, asked.text("table"), asked.integer("row")
    if table not in _OF_TABLE:
        raise UsageError(f"there is no table '{table}': {', '.join(_OF_TABLE)}")
    view.require_unchanged()
    with view.turn:
        return Answer(json_bytes(_OF_TABLE[table](view, row)))


def _call_details(view: TraceView, row: int) -> dict[str, Any]:
    """What is known of the call in a row."""
    parts = view.derived(parts_of)
    call = one_row(parts, CALLS, row)
    start_ns, end_ns, process, thread = (
        int(call[name][0]) for name in ("start_ns", "end_ns", "process", "thread")
    )
    rows = around_rows(view, np.array([row], np.int64))
    trace = parts.trace(rows)
    place = int(np.searchsorted(rows[CALLS], row))
    parent = int(parent_calls(trace)[place])
    name = call.strings("name")[0]
    launched, launched_count = launched_ops(view, int(call["id"][0]))
    likely = f"calls/{process}/{thread}"
    links = [] if parent < 0 else links_to(view, "parent", CALLS, rows[CALLS][[parent]], likely)
    facts = [
        fact("name", name),
        *known("category", call.strings("category")[0]),
        *known("domain", call.strings("domain")[0]),
        *times(view, start_ns, end_ns),
        *process_facts(view.trace, process, thread),
        *known("stream", int(call["stream"][0])),
        *known("return code", int(call["return_code"][0])),
        *known("correlation", int(call["correlation"][0])),
        *around_facts(trace, int(call["id"][0])),
        fact("launched ops", launched_count),
    ]
    return {
        "title": name,
        "table": "calls",
        "row": row,
        "facts": facts,
        "arguments": arguments_of(call.strings("args")[0]),
        "links": [*links, *enclosing_markers(view, start_ns, end_ns, process, thread), *launched],
        "previous": None,
        "next": None,
        "start": start_ns - view.loaded.first_ns,
        "duration": end_ns - start_ns,
        **spot_json(spot_of(view.loaded, "calls", row, start_ns, likely)),
    }


def _marker_details(view: TraceView, row: int) -> dict[str, Any]:
    """What is known of the marker in a row."""
    marker = one_row(view.derived(parts_of), MARKERS, row)
    start_ns, end_ns, process, thread, flags = (
        int(marker[name][0]) for name in ("start_ns", "end_ns", "process", "thread", "flags")
    )
    name = marker.strings("name")[0]
    facts = [
        fact("name", name),
        *known("category", marker.strings("category")[0]),
        *known("domain", marker.strings("domain")[0]),
        *known("subcategory", marker.strings("subcategory")[0]),
        *times(view, start_ns, end_ns),
        *process_facts(view.trace, process, thread),
    ]
    payload = float(marker["payload"][0])
    if not math.isnan(payload):
        facts.append(fact("payload", payload))
    if flags & MARKER_INSTANT:
        facts.append(fact("kind", "instant mark"))
    if flags & MARKER_UNCLOSED:
        facts.append(fact("kind", "still open when recording ended"))
    around = enclosing_markers(view, start_ns, end_ns, process, thread)
    own = (start_ns - view.loaded.first_ns, end_ns - start_ns)
    return {
        "title": name,
        "table": "markers",
        "row": row,
        "facts": facts,
        "arguments": {},
        # Of those of the very same time the first is around the others.
        "links": [
            link for link in around if link["row"] < row or (link["start"], link["duration"]) != own
        ],
        "previous": None,
        "next": None,
        "start": start_ns - view.loaded.first_ns,
        "duration": end_ns - start_ns,
        **spot_json(spot_of(view.loaded, "markers", row, start_ns, f"markers/{process}/{thread}")),
    }


_OF_TABLE: dict[str, Callable[[TraceView, int], dict[str, Any]]] = {
    "ops": op_details,
    "calls": _call_details,
    "markers": _marker_details,
}
