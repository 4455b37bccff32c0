"""The times of the steps of a trace, by each metric, and traces' steps side by side."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.compare.differences import percent_change
from wavescope.analyze.compare.figures import TraceFigures
from wavescope.analyze.steps import Steps
from wavescope.arrays.coded_columns import distinct
from wavescope.errors import UsageError
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.units import counted

FloatArray = npt.NDArray[np.float64]

OUTSIDE = -1


class Metric(str, enum.Enum):
    """What is compared."""

    GPU_TIME = "gpu-time"
    """The durations of the ops, added up."""
    BUSY = "busy"
    """The time with at least one op running, added up over GPUs."""
    WALL = "wall"
    """How long steps took; without steps, from the first op's start to the last one's end."""


class _StepTimes(NamedTuple):
    """What one metric says of the steps of one trace; `base_ns` is the base's median."""

    trace: int
    metric: Metric
    values_ns: FloatArray
    """Of each step, in ascending order."""
    base_ns: float
    told_by: str

    @property
    def median_ns(self) -> float:
        return float(np.median(self.values_ns))

    @property
    def p95_ns(self) -> float:
        return float(self.values_ns[(len(self.values_ns) * 95 + 99) // 100 - 1])


_STEP_COLUMNS: tuple[ColumnOf[_StepTimes], ...] = (
    ResultColumn("trace", "Trace", meaning="number; 1 is the base").of(lambda row: row.trace),
    ResultColumn("value", "Value", Unit.NAME, "what is measured of each step").of(
        lambda row: row.metric.value
    ),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps found").of(
        lambda row: len(row.values_ns)
    ),
    ResultColumn("median_ns", "Median", Unit.NS, "of the steps").of(lambda row: row.median_ns),
    ResultColumn("p95_ns", "p95", Unit.NS, "nearest-rank 95th percentile of the steps").of(
        lambda row: row.p95_ns
    ),
    ResultColumn("mean_ns", "Mean", Unit.NS, "of the steps").of(
        lambda row: float(row.values_ns.mean())
    ),
    ResultColumn("delta_ns", "Delta", Unit.NS, "of the median, from the base's").of(
        lambda row: row.median_ns - row.base_ns if row.trace > 1 else None
    ),
    ResultColumn("delta_percent", "Delta %", Unit.PERCENT, "of the median, from the base's").of(
        lambda row: percent_change(row.base_ns, row.median_ns) if row.trace > 1 else None
    ),
    ResultColumn("source", "Told by", Unit.NAME, "how the steps were found").of(
        lambda row: row.told_by
    ),
)


def step_table(figures: Sequence[TraceFigures], pattern: str = "") -> ResultTable:
    """For each trace and metric the steps' median, 95th percentile and mean."""
    rows: list[_StepTimes] = []
    medians: dict[Metric, float] = {}
    for number, each in enumerate(figures, 1):
        steps = each.steps(pattern)
        if not len(steps):
            continue
        of_op, walls, told_by = counted_steps(each, steps, 0)
        for metric in Metric:
            values = np.sort(step_totals(each, of_op, walls, metric))
            base_ns = medians.setdefault(metric, float(np.median(values)))
            rows.append(_StepTimes(number, metric, values, base_ns, told_by))
    rows.sort(key=lambda row: (row.metric.value, row.trace))
    return table_of("steps", "Steps", _STEP_COLUMNS, rows)


def counted_steps(
    figures: TraceFigures, steps: Steps | None, skipped: int
) -> tuple[npt.NDArray[np.int64], FloatArray, str]:
    """For each counted op its step, the wall time of each step, and how they were told."""
    if steps is None or not len(steps):
        starts, ends = figures.ops["start_ns"], figures.ops["end_ns"]
        span = int(ends.max()) - int(starts.min())
        return np.zeros(len(starts), np.int64), np.array([span], np.float64), ""
    if skipped >= len(steps):
        raise UsageError(
            f"{figures.trace.path} has {counted(len(steps), 'step')}, and the first {skipped} are "
            "to be skipped"
        )
    of_op = steps.of_op if figures.rows is None else steps.of_op[figures.rows]
    numbers = np.where(of_op < skipped, OUTSIDE, of_op - skipped)
    return numbers, steps.wall_ns[skipped:].astype(np.float64), steps.told_by


def step_totals(
    figures: TraceFigures, of_op: npt.NDArray[np.int64], walls: FloatArray, metric: Metric
) -> FloatArray:
    """The metric of each step; `of_op` has for each counted op its step, -1 outside any."""
    if metric is Metric.WALL:
        return walls
    return (_gpu_time if metric is Metric.GPU_TIME else _busy)(figures, of_op, len(walls))


def _gpu_time(figures: TraceFigures, of_op: npt.NDArray[np.int64], step_count: int) -> FloatArray:
    inside = of_op != OUTSIDE
    durations = figures.duration_ns[inside]
    sums: FloatArray = np.bincount(of_op[inside], durations, step_count).astype(np.float64)
    return sums


def _busy(figures: TraceFigures, of_op: npt.NDArray[np.int64], step_count: int) -> FloatArray:
    """What each op adds to the time that the ops before it cover, given to the op's step."""
    ops = figures.ops
    values = np.zeros(step_count)
    gpus, gpu_of_op = distinct(ops["gpu"])
    for place in range(len(gpus)):
        mine = np.flatnonzero(gpu_of_op == place)
        mine = mine[np.argsort(ops["start_ns"][mine], kind="stable")]
        starts, ends = ops["start_ns"][mine], ops["end_ns"][mine]
        until = np.maximum.accumulate(ends)
        begins = starts.copy()
        np.maximum(begins[1:], until[:-1], out=begins[1:])
        added = np.maximum(ends - begins, 0)
        step = of_op[mine]
        inside = step != OUTSIDE
        values += np.bincount(step[inside], added[inside], minlength=step_count)
    return values
