"""Where the ops of a trace were launched, those of graph replays where their graph was captured."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.operators.attribution import OpLaunches, op_launches
from wavescope.analyze.ops.op_links import rows_of_ids
from wavescope.model.trace import Trace


def joined_launches(trace: Trace, captures: Sequence[Trace] = ()) -> OpLaunches:
    """The launches of all ops of a trace that has all its calls.

    Graphs were captured in the trace itself, or in `captures`.
    """
    launches = op_launches(trace)
    if not launches.is_replayed.any():
        return launches
    # A part of a replay fits no capture: whole replays are joined, then the part is taken.
    whole = trace.whole
    joined = _joined(whole, captures) if captures else whole.derived(_joined)
    if whole is trace:
        return joined
    rows, _ = rows_of_ids(whole.ops["id"], trace.ops["id"])
    return joined.of_ops(rows)


def _joined(trace: Trace, captures: Sequence[Trace] = ()) -> OpLaunches:
    # Few traces replay graphs: what joins them is imported for these only.
    from wavescope.analyze.operators.graph_captures import captured_launches  # noqa: PLC0415
    from wavescope.analyze.operators.graph_nodes import launches_of_nodes  # noqa: PLC0415

    launches = op_launches(trace)
    launches = launches.with_captured(launches_of_nodes(trace, launches, captures))
    return launches.with_captured(captured_launches(trace, launches, captures))
