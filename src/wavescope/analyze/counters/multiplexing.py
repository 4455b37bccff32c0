"""How much is behind the values of a run that counted something else at each launch."""

from __future__ import annotations

from wavescope.model.counters import CounterTable
from wavescope.model.result import ResultColumn, ResultTable, Unit


def multiplexing_table(workload: CounterTable) -> ResultTable:
    """By kernel: launches, groups of counters that met one, and how sure the means are."""
    columns = (
        ResultColumn("kernel", "kernel", Unit.NAME, "launches that are taken to be alike"),
        ResultColumn("dispatches", "dispatches", Unit.COUNT, "launches of it"),
        ResultColumn("groups", "groups", Unit.COUNT, "groups of counters in the run"),
        ResultColumn("measured_groups", "measured", Unit.COUNT, "groups that met a launch"),
        ResultColumn("fewest_samples", "fewest", Unit.COUNT, "launches behind the scarcest value"),
        ResultColumn(
            "interval_percent",
            "interval",
            Unit.PERCENT,
            "half of the widest 95 % interval of a mean",
        ),
        ResultColumn("interval_counter", "of counter", Unit.NAME, "whose interval it is"),
    )
    rows = [
        (
            each.kernel,
            each.dispatches,
            each.groups,
            each.measured_groups,
            each.fewest_samples,
            round(each.widest_interval_percent, 3),
            each.widest_counter,
        )
        for each in sorted(workload.multiplexed, key=lambda each: -each.dispatches)
    ]
    return ResultTable("0.3", "0.3 Multiplexing", columns, list(rows))


def multiplexed_counters(workload: CounterTable) -> ResultTable:
    """By kernel and counter: the launches behind its mean and how sure that is, the least first."""
    columns = (
        ResultColumn("kernel", "kernel", Unit.NAME, "launches that are taken to be alike"),
        ResultColumn("counter", "counter", Unit.NAME),
        ResultColumn("launches", "launches", Unit.COUNT, "that it was counted in"),
        ResultColumn("mean", "mean", Unit.NONE, "over them"),
        ResultColumn(
            "interval_percent", "interval", Unit.PERCENT, "half of the mean's 95 % interval"
        ),
    )
    counters = [counter for kernel in workload.multiplexed for counter in kernel.counters]
    counters.sort(key=lambda each: (-each.interval_percent, each.kernel, each.counter))
    rows = [
        (each.kernel, each.counter, each.launches, each.mean, round(each.interval_percent, 3))
        for each in counters
    ]
    return ResultTable("0.4", "0.4 Multiplexed Counters", columns, list(rows))
