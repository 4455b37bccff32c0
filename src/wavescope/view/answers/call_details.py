"""All that is known of one call: what it was given, what it launched, what it lies in."""

from __future__ import annotations

from typing import Any

import numpy as np

from wavescope.analyze.calls.call_tree import parent_calls
from wavescope.model.columns import CALLS
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
from wavescope.view.answers.places import spot_of
from wavescope.view.opening import TraceView
from wavescope.view.parts import parts_of


def call_details(view: TraceView, row: int) -> dict[str, Any]:
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
