"""The ranges of a view's rows as tuples, to be compared with the rows of a trace."""

from __future__ import annotations

from wavescope.model.op_kinds import OpKind, kind_of_type
from wavescope.model.trace import Trace, TraceTable
from wavescope.view.opening import TraceView
from wavescope.view.rows import HostPlace, op_row_id

Range = tuple[str, int, int, int, str]
"""Row of the timeline, row in the table, start, end, name."""


def shown_ranges(view: TraceView, table: str) -> list[Range]:
    """All ranges of a table that are in lanes, in the order of the table."""
    strings = view.trace.strings
    return sorted(
        (
            (row.id, number, start, start + length, strings[name])
            for row in view.loaded.rows
            if row.table == table
            for lane in row.lanes
            for number, start, length, name in zip(
                lane.rows.tolist(),
                lane.starts.tolist(),
                lane.lengths.tolist(),
                lane.names.tolist(),
                strict=True,
            )
        ),
        key=lambda found: found[1],
    )


def expected_ops(trace: Trace) -> list[Range]:
    """The ops of a trace as they should be shown, but for runs of graphs beside their kernels."""
    found = []
    rows = zip(
        trace.ops["gpu"].tolist(),
        trace.ops["queue"].tolist(),
        trace.ops.strings("type"),
        *_times(trace.ops),
        strict=True,
    )
    for number, (gpu, queue, kind_text, start, end, name) in enumerate(rows):
        kind = kind_of_type(kind_text)
        label = name or ("" if kind is OpKind.KERNEL else kind_text)
        if kind is not OpKind.BARRIER:
            found.append((op_row_id(gpu, queue, kind), number, start, end, label))
    return found


def expected_host(trace: Trace, table: str) -> list[Range]:
    """The markers or calls of a trace whose processes are all listed, or unknown."""
    rows = trace.markers if table == "markers" else trace.calls
    places = zip(rows["process"].tolist(), rows["thread"].tolist(), *_times(rows), strict=True)
    return [
        (HostPlace(process, thread, table).row_id, number, start, end, name)
        for number, (process, thread, start, end, name) in enumerate(places)
    ]


def _times(table: TraceTable) -> tuple[list[int], list[int], list[str]]:
    return table["start_ns"].tolist(), table["end_ns"].tolist(), table.strings("name")
