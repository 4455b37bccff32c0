"""The steps of several traces beside one another."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.compare.differences import percent_change
from wavescope.analyze.compare.figures import TraceFigures
from wavescope.analyze.compare.run_values import Metric, counted_steps, step_totals
from wavescope.analyze.compare.step_ops import steps_of
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_COLUMNS = (
    ResultColumn("trace", "Trace", meaning="number; 1 is the base"),
    ResultColumn("value", "Value", Unit.NAME, "what is measured of each step"),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps found"),
    ResultColumn("median_ns", "Median", Unit.NS, "of the steps"),
    ResultColumn("p95_ns", "p95", Unit.NS, "nearest-rank 95th percentile of the steps"),
    ResultColumn("mean_ns", "Mean", Unit.NS, "of the steps"),
    ResultColumn("delta_ns", "Delta", Unit.NS, "of the median, from the base's"),
    ResultColumn("delta_percent", "Delta %", Unit.PERCENT, "of the median, from the base's"),
    ResultColumn("source", "Told by", Unit.NAME, "how the steps were found"),
)


def step_table(figures: Sequence[TraceFigures], pattern: str = "") -> ResultTable:
    """For each trace and metric the steps' median, 95th percentile and mean."""
    rows: list[tuple[Value, ...]] = []
    medians: dict[Metric, float] = {}
    for number, each in enumerate(figures, 1):
        steps = steps_of(each, pattern)
        if steps is None or not len(steps):
            continue
        of_op, walls, source = counted_steps(each, steps, 0)
        for metric in Metric:
            values = np.sort(step_totals(each, of_op, walls, metric))
            median = float(np.median(values))
            base = medians.setdefault(metric, median)
            rows.append(
                (
                    number,
                    metric.value,
                    len(values),
                    median,
                    float(values[(len(values) * 95 + 99) // 100 - 1]),
                    float(values.mean()),
                    median - base if number > 1 else None,
                    percent_change(base, median) if number > 1 else None,
                    source,
                )
            )
    rows.sort(key=lambda row: (str(row[1]), int(row[0] or 0)))
    return ResultTable("steps", "Steps", _COLUMNS, rows)
