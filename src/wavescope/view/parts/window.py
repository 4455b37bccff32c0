"""A trace that is cut to a window of time for analyses that also ask what was around it."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.calls.outermost import working_operators
from wavescope.analyze.ops.op_links import graph_launch_names
from wavescope.model.columns import CALLS, LINKS, MARKERS, OPS, SLICES
from wavescope.model.selection import Selection, select
from wavescope.model.trace import Trace
from wavescope.view.parts.stored_table import Numbers, among, united
from wavescope.view.parts.trace_parts import TraceParts


def window_part(parts: TraceParts, start_ns: int, end_ns: int) -> Trace:
    """As `select(trace, [start_ns, end_ns))` of the whole trace, of which few rows are read.

    Analyses of a part look at ops that ran into it, at launches before it and at what enclosed
    them; these rows are there. Where they look at everything, so does the part: what a recording
    in slices stands for, and where the graphs were captured that are replayed.
    """
    selection = Selection(start=str(start_ns), end=str(end_ns))
    if parts.source.row_count(SLICES):
        return select(Trace(parts.source), selection)
    around = _surroundings(parts, start_ns, end_ns)
    if _replays_captured(around):
        return select(Trace(parts.source), selection)
    return select(around, selection)


def _surroundings(parts: TraceParts, start_ns: int, end_ns: int) -> Trace:
    """The rows that analyses of the window look at."""
    ops = parts.table(OPS)
    _, times = ops.overlapping(start_ns, end_ns, ())
    begun = (times["start_ns"] >= start_ns) & (times["start_ns"] < end_ns)
    # What began inside is counted whole, and with it what ran beside it.
    last_ns = max(end_ns, int(times["end_ns"][begun].max(initial=end_ns)))
    op_rows, found = ops.overlapping(start_ns, last_ns, ("id",))
    link_rows = parts.links_of("op", found["id"])
    return parts.trace(
        {
            OPS: op_rows,
            CALLS: _calls(parts, start_ns, last_ns, link_rows),
            MARKERS: parts.table(MARKERS).overlapping(start_ns, last_ns, ())[0],
            LINKS: link_rows,
        }
    )


def _calls(parts: TraceParts, start_ns: int, last_ns: int, link_rows: Numbers) -> Numbers:
    """Calls of that time, launches of its ops, and what enclosed them."""
    if not parts.source.row_count(CALLS):
        return np.empty(0, np.int64)
    calls = parts.table(CALLS)
    rows, times = calls.overlapping(start_ns, last_ns, ())
    launches = np.empty(0, np.int64)
    if len(link_rows):
        launches = united(np.sort(parts.table(LINKS).at(link_rows, ("call",))["call"]))
    linked, _ = calls.with_ids(launches, ())
    # What was open when a call of the window began is a call of the window.
    begun_inside = rows[times["start_ns"] >= start_ns]
    others = united(linked, rows)
    around = parts.calls_around(others[~among(others, begun_inside)])
    # That there are operators at all is said of parts without any, too.
    return united(rows, around, parts.an_operator())


def _replays_captured(trace: Trace) -> bool:
    """Whether graphs are replayed whose kernels may be of operators where they were captured."""
    if not len(trace.calls) or not graph_launch_names(trace):
        return False
    return len(working_operators(trace)) > 0
