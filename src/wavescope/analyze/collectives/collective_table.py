"""Collectives by what they do, in which group, of which type and size: how often, how fast.

Where ranks wait for one another a collective takes longer than its data needs, and the shortest
tells the bandwidth best: both the median and the shortest are given.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from wavescope.analyze.calls.outermost import with_all_calls
from wavescope.analyze.collectives.bandwidth import gb_per_s
from wavescope.analyze.collectives.records import CollectiveUse, collective_uses
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.op_links import RowArray
from wavescope.arrays.covered_time import CoveredTime
from wavescope.arrays.groups import GroupStatistics, group_statistics, group_sums
from wavescope.arrays.intervals import Times
from wavescope.model.op_kinds import OpClass, OpKind
from wavescope.model.result import ColumnOf, Result, ResultColumn, Unit, Value, table_of
from wavescope.model.trace import Trace
from wavescope.units import percent_of


def collectives_result(trace: Trace) -> Result:
    """The table `collectives`, and how much of their time is recorded with its messages."""
    is_collective = trace.op_class == OpClass.COMMUNICATION
    sampled = recorded(trace)
    if sampled is not None:
        is_collective &= sampled.is_seen
    rows = np.flatnonzero(is_collective)
    if not len(rows):
        return Result("Collectives")
    trace = with_all_calls(trace)
    numbers: dict[CollectiveUse, int] = {}
    codes = [numbers.setdefault(use, len(numbers)) for use in collective_uses(trace, rows)]
    of_op = np.array(codes, np.int64)
    statistics = group_statistics(of_op, trace.op_length_ns[rows], len(numbers))
    exposed_ns = group_sums(of_op, _exposed_ns(trace, rows), len(numbers))
    found = _collectives(list(numbers), statistics, exposed_ns)
    facts: dict[str, Value] = {
        "collective_count": len(rows),
        "collective_ns": sum(each.total_ns for each in found),
        "sized_collective_ns": sum(each.total_ns for each in found if each.size_bytes),
    }
    table = table_of("collectives", "Collectives", _COLUMNS, found)
    if sampled is not None:
        # Compute that began before a slice hides collectives, too, but is not seen.
        facts["exposed_collectives"] = "at most: compute that began before a slice is not seen"
        table = replace(table, title="Collectives (in slices)")
    return Result("Collectives", [table], facts=facts)


class _Collective(NamedTuple):
    """One row: collectives of one kind, group, type and size."""

    use: CollectiveUse
    op_count: int
    total_ns: int
    median_ns: int
    shortest_ns: int
    exposed_ns: int

    @property
    def size_bytes(self) -> int | None:
        return self.use.message.size_bytes

    def algorithm_gb_per_s(self, time_ns: int) -> float | None:
        return gb_per_s(self.size_bytes, time_ns)

    def bus_gb_per_s(self, time_ns: int) -> float | None:
        return gb_per_s(self.size_bytes, time_ns, self.use.message.bus_factor)


def _collectives(
    uses: Sequence[CollectiveUse], statistics: GroupStatistics, exposed_ns: Sequence[int]
) -> list[_Collective]:
    """The rows, the longest in all first."""
    found = [
        _Collective(uses[group], count, total, median, shortest, exposed_ns[group])
        for group, count, total, median, shortest in zip(
            statistics.groups.tolist(),
            statistics.counts.tolist(),
            statistics.totals,
            statistics.percentiles(50).tolist(),
            statistics.minima.tolist(),
            strict=True,
        )
    ]
    return sorted(found, key=lambda each: (-each.total_ns, str(each.use)))


def _exposed_ns(trace: Trace, rows: RowArray) -> Times:
    """For each of these ops how long it ran while no compute ran on its GPU."""
    starts, ends, gpus = (trace.ops[name][rows] for name in ("start_ns", "end_ns", "gpu"))
    exposed = (ends - starts).astype(np.int64)
    # Compute that a filter leaves out of the trace hides collectives all the same.
    everything = trace.whole
    is_compute = everything.op_class == OpClass.COMPUTE
    is_compute &= everything.op_kind != OpKind.BARRIER
    for gpu in np.unique(gpus).tolist():
        mine = gpus == gpu
        compute = is_compute & (everything.ops["gpu"] == gpu)
        hidden = CoveredTime.of(*(everything.ops[name][compute] for name in ("start_ns", "end_ns")))
        exposed[mine] -= hidden.between(starts[mine], ends[mine])
    return exposed


_COLUMNS: tuple[ColumnOf[_Collective], ...] = (
    ResultColumn("collective", "Collective", Unit.NAME, "as recorded, else by kernel name").of(
        lambda row: row.use.operation
    ),
    ResultColumn("group", "Group", Unit.NAME, "process group: its name and description").of(
        lambda row: row.use.group
    ),
    ResultColumn("group_size", "Ranks", Unit.COUNT, "ranks in the group").of(
        lambda row: row.use.group_size
    ),
    ResultColumn("dtype", "Type", Unit.NAME, "type of the elements").of(lambda row: row.use.dtype),
    ResultColumn(
        "message_bytes", "Message", Unit.BYTES, "size that bandwidths refer to, see operators.md"
    ).of(lambda row: row.size_bytes),
    ResultColumn("op_count", "Ops", Unit.COUNT, "how often it ran").of(lambda row: row.op_count),
    ResultColumn("total_ns", "Total", Unit.NS, "sum of durations").of(lambda row: row.total_ns),
    ResultColumn("median_ns", "Median", Unit.NS, "nearest-rank 50th percentile").of(
        lambda row: row.median_ns
    ),
    ResultColumn("shortest_ns", "Shortest", Unit.NS, "least time waited for other ranks").of(
        lambda row: row.shortest_ns
    ),
    ResultColumn("algorithm_gb_per_s", "Algorithm", Unit.GB_PER_S, "message / median duration").of(
        lambda row: row.algorithm_gb_per_s(row.median_ns)
    ),
    ResultColumn("bus_gb_per_s", "Bus", Unit.GB_PER_S, "algorithm bandwidth x bus factor").of(
        lambda row: row.bus_gb_per_s(row.median_ns)
    ),
    ResultColumn(
        "best_algorithm_gb_per_s", "Best algorithm", Unit.GB_PER_S, "message / shortest duration"
    ).of(lambda row: row.algorithm_gb_per_s(row.shortest_ns)),
    ResultColumn("best_bus_gb_per_s", "Best bus", Unit.GB_PER_S, "that x bus factor").of(
        lambda row: row.bus_gb_per_s(row.shortest_ns)
    ),
    ResultColumn(
        "exposed_ns", "Exposed", Unit.NS, "of the total while no compute ran on the GPU"
    ).of(lambda row: row.exposed_ns),
    ResultColumn("exposed_percent", "Exposed %", Unit.PERCENT, "exposed / total").of(
        lambda row: percent_of(row.exposed_ns, row.total_ns)
    ),
    ResultColumn(
        "kernel_variant",
        "Kernel name says",
        Unit.NAME,
        "algorithm, protocol and reduction in the kernel's name, see operators.md",
    ).of(lambda row: row.use.kernel_variant),
)
