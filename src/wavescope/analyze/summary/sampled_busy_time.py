"""How busy GPUs were in a trace that was recorded in slices: estimates, and runs of graphs.

docs/definitions.md publishes every number here.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ops.busy_estimates import busy_estimate, run_busy_estimate
from wavescope.analyze.ops.busy_timelines import busy_timelines
from wavescope.analyze.ops.gpu_timelines import GpuTimeline
from wavescope.analyze.ops.recorded import Recorded
from wavescope.analyze.ops.slice_estimates import Estimate
from wavescope.arrays.groups import group_statistics
from wavescope.arrays.intervals import Intervals
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.selection import trace_span
from wavescope.model.trace import Trace
from wavescope.units import percent_of

_SPAN = "span_ns"
_BUSY_COLUMNS = (
    ResultColumn("busy_low_percent", "low", Unit.PERCENT, "lower end of its 95 % interval"),
    ResultColumn("busy_high_percent", "high", Unit.PERCENT, "upper end of its 95 % interval"),
    ResultColumn("graph_run_ns", "Graph runs", Unit.NS, "time with a whole graph running"),
    ResultColumn(
        "graph_run_percent",
        "Graphs %",
        Unit.PERCENT,
        "time outside of slices with a whole graph running / time outside of slices",
    ),
)


class _Gpu(NamedTuple):
    """What is known of one GPU beyond its busy time in slices."""

    busy: Estimate | None
    graph_run_ns: int
    graph_run_percent: float | None

    @property
    def values(self) -> tuple[Value, ...]:
        low, high = (None, None) if self.busy is None else self.busy[1:]
        return low, high, self.graph_run_ns, self.graph_run_percent


def sampled_utilization(result: Result, trace: Trace, sampled: Recorded) -> Result:
    """`result` with the intervals of busy time and what runs of graphs tell; `graph_runs` too."""
    timelines = trace.derived(busy_timelines)
    gpus = {each.gpu: _gpu(trace, each, sampled) for each in timelines}
    overall = busy_estimate(timelines, sampled)
    first_ns, last_ns = trace_span(trace)
    facts: dict[str, Value] = {**result.facts, "gpu_span_ns": last_ns - first_ns}
    if overall is not None:
        facts["gpu_busy_percent"] = facts["busy_percent"] = overall.value
        facts["busy_low_percent"], facts["busy_high_percent"] = overall.low, overall.high
    facts.pop("gpus_in_use_percent", None)
    of_run = run_busy_estimate(timelines, sampled)
    if of_run is not None:
        names = ("run_busy_percent", "run_busy_low_percent", "run_busy_high_percent")
        facts |= dict(zip(names, of_run, strict=True))
    tables = [
        _gpu_table(result.table("gpus"), gpus),
        _of_slices(result.table("queues")),
        *(table for table in result.tables if table.name not in ("gpus", "queues")),
    ]
    runs = graph_run_table(trace)
    return replace(result, tables=[*tables, *([runs] if runs.rows else [])], facts=facts)


def _gpu(trace: Trace, timeline: GpuTimeline, found: Recorded) -> _Gpu:
    if timeline.sampled is None:
        return _Gpu(None, 0, None)
    runs, slices = timeline.sampled.graph_runs, timeline.sampled.slices
    ops = trace.whole.ops
    here = ops["gpu"] == timeline.gpu
    span = (int(ops["start_ns"][here].min()), int(ops["end_ns"][here].max()))
    outside = Intervals.from_pairs([span[0]], [span[1]]).subtract(slices)
    return _Gpu(
        busy_estimate([timeline], found),
        runs.total_ns,
        percent_of(runs.intersect(outside).total_ns, outside.total_ns) if len(runs) else None,
    )


def _gpu_table(table: ResultTable, gpus: dict[int, _Gpu]) -> ResultTable:
    table = _of_slices(table)
    place = [column.name for column in table.columns].index("busy_percent") + 1
    rows = []
    for row in table.rows:
        gpu = row[0]
        assert isinstance(gpu, int)
        rows.append((*row[:place], *gpus[gpu].values, *row[place:]))
    columns = (*table.columns[:place], *_BUSY_COLUMNS, *table.columns[place:])
    return replace(table, title=f"{table.title} (in slices)", columns=columns, rows=rows)


def _of_slices(table: ResultTable) -> ResultTable:
    """The table with the meaning that its span has."""
    meaning = "slices in which all that began on the GPU was recorded, added up"
    columns = tuple(
        column._replace(title="Slices", meaning=meaning) if column.name == _SPAN else column
        for column in table.columns
    )
    return replace(table, columns=columns)


_RUN_COLUMNS = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("name", "Graph", Unit.NAME, "executable graph"),
    ResultColumn("runs", "Runs", Unit.COUNT, "times that it ran outside of slices"),
    ResultColumn("total_ns", "Total", Unit.NS, "from the first to the last node, added up"),
    ResultColumn("mean_ns", "Mean", Unit.NS, "total / runs"),
    ResultColumn("median_ns", "Median", Unit.NS, "nearest-rank 50th percentile"),
    ResultColumn("p95_ns", "p95", Unit.NS, "nearest-rank 95th percentile"),
)


def graph_run_table(trace: Trace) -> ResultTable:
    """Runs of whole graphs by graph, which are exact, largest total first."""
    rows = np.flatnonzero(trace.op_kind == OpKind.GRAPH_RUN)
    names, of_row = np.unique(trace.ops["name"][rows], return_inverse=True)
    gpus, gpu_of_row = np.unique(trace.ops["gpu"][rows], return_inverse=True)
    groups = gpu_of_row * len(names) + of_row
    found = group_statistics(groups, trace.op_length_ns[rows], len(names) * len(gpus))
    columns = (
        found.groups.tolist(),
        found.counts.tolist(),
        found.totals,
        found.means,
        found.percentiles(50).tolist(),
        found.percentiles(95).tolist(),
    )
    listed: list[tuple[Value, ...]] = [
        (int(gpus[group // len(names)]), trace.strings[int(names[group % len(names)])], *values)
        for group, *values in zip(*columns, strict=True)
    ]
    listed.sort(key=lambda row: -int(row[3] or 0))
    return ResultTable("graph_runs", "Runs of whole graphs", _RUN_COLUMNS, listed)
