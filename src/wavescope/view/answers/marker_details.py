"""All that is known of one marker."""

from __future__ import annotations

import math
from typing import Any

from wavescope.model.columns import MARKER_INSTANT, MARKER_UNCLOSED, MARKERS
from wavescope.view.answers.facts import (
    enclosing_markers,
    fact,
    known,
    one_row,
    process_facts,
    spot_json,
    times,
)
from wavescope.view.answers.places import spot_of
from wavescope.view.opening import TraceView
from wavescope.view.parts import parts_of


def marker_details(view: TraceView, row: int) -> dict[str, Any]:
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
