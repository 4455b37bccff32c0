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
        ResultColumn("interval_percent", "95 % +-", Unit.PERCENT, "widest interval of a mean"),
        ResultColumn("interval_counter", "widest", Unit.NAME, "the counter it is of"),
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
