"""Per-step times as a result: one row for each kind of step, the outliers, and every step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ops.op_labels import short_op_name
from wavescope.analyze.steps.lane_steps import LaneSteps
from wavescope.analyze.steps.repetition import Positions
from wavescope.analyze.steps.step_times import LaneStepTimes, StepKindTimes
from wavescope.analyze.steps.trace_steps import Steps
from wavescope.arrays import Array
from wavescope.arrays.groups import nearest_rank
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    table_of,
)
from wavescope.model.trace import Trace
from wavescope.units import count_text, duration_text, percent_of

SLOW_STEPS_PERCENT = 5.0
"""Slow steps are reported when they cost this share of the time of all steps of their kind."""


class _LaneTimes(NamedTuple):
    times: LaneStepTimes
    phases: list[str]
    kinds: list[StepKindTimes]

    @property
    def gpu(self) -> int:
        return self.times.steps.lane.gpu

    @property
    def queue(self) -> int:
        return self.times.steps.lane.queue

    @property
    def process(self) -> int | None:
        process = self.times.steps.lane.process
        return process if process >= 0 else None


def steps_result(
    steps: Steps,
    phase_names: Sequence[str],
    phase_of_op: Array,
    most_steps: int | None = None,
) -> Result:
    """Tables `step_kinds`, `step_outliers` and `steps` (the first `most_steps`), and findings.

    Steps of different phases are of different kinds; `phase_of_op` is below 0 where none is known.
    """
    trace = steps.trace
    lanes = [_lane_times(each, phase_names, phase_of_op) for each in steps.of_lane]
    return Result(
        "Steps",
        [_kind_table(lanes), _outlier_table(trace, lanes), _step_table(lanes, most_steps)],
        [finding for lane in lanes for finding in _slow_findings(lane)],
        {
            "path": trace.path,
            "format": trace.format,
            "step_count": sum(len(lane.times.steps) for lane in lanes),
            "warm_up_steps_left_out": sum(
                int(kind.warm_up.size) for lane in lanes for kind in lane.kinds
            ),
            "told_by": steps.told_by,
        },
    )


def _lane_times(steps: LaneSteps, phase_names: Sequence[str], phase_of_op: Array) -> _LaneTimes:
    phases = _phase_of_steps(steps, phase_of_op, len(phase_names))
    times = LaneStepTimes.of(steps, phases + 1)
    names = [*phase_names, ""]
    return _LaneTimes(times, [names[phase] for phase in phases.tolist()], list(times.kinds()))


def _phase_of_steps(steps: LaneSteps, phase_of_op: Array, phase_count: int) -> Positions:
    """For each step the phase of most of its ops; of equals the first, none (-1) last."""
    codes = phase_of_op[steps.lane.rows].astype(np.int64)
    codes[codes < 0] = phase_count
    step = np.repeat(np.arange(len(steps)), steps.op_counts)
    counts = np.bincount(step * (phase_count + 1) + codes, minlength=len(steps) * (phase_count + 1))
    most = counts.reshape(len(steps), phase_count + 1).argmax(axis=1)
    return np.where(most == phase_count, -1, most)


class _Kind(NamedTuple):
    """A kind of step on one queue, as a row of the table."""

    lane: _LaneTimes
    times: StepKindTimes

    @property
    def median_ns(self) -> int | None:
        return _rank(self.times.period_ns, 50)

    @property
    def busy_ns(self) -> int:
        return nearest_rank(self.times.busy_ns, 50)


def _rank(values: Positions, percent: int) -> int | None:
    return nearest_rank(values, percent) if values.size else None


_GPU = ResultColumn("gpu", "GPU", meaning="GPU number in the trace")
_QUEUE = ResultColumn("queue", "Queue", meaning="queue (or stream) of the GPU")
_PROCESS = ResultColumn("process", "Process", meaning="process number in the trace")
_KIND_COLUMNS: tuple[ColumnOf[_Kind], ...] = (
    _GPU.of(lambda row: row.lane.gpu),
    _QUEUE.of(lambda row: row.lane.queue),
    _PROCESS.of(lambda row: row.lane.process),
    ResultColumn(
        "kind", "Kind", meaning="number of the kind of step; none: steps unlike any other"
    ).of(lambda row: row.times.kind + 1 if row.times.is_repeated else None),
    ResultColumn("phase", "Phase", meaning="phase of most of its ops, where that is known").of(
        lambda row: row.lane.phases[int(row.times.steps[0])]
    ),
    ResultColumn("steps", "Steps", Unit.COUNT, "steps of the kind, warm-up left out").of(
        lambda row: int(row.times.steps.size)
    ),
    ResultColumn("warm_up", "Warm-up", Unit.COUNT, "first steps left out because they are slow").of(
        lambda row: int(row.times.warm_up.size)
    ),
    ResultColumn("irregular", "Irregular", Unit.COUNT, "steps with other kernels than most").of(
        lambda row: row.times.irregular_count if row.times.is_repeated else None
    ),
    ResultColumn("ops", "Ops", Unit.COUNT, "ops of a step (median)").of(
        lambda row: row.times.op_count
    ),
    ResultColumn("median_ns", "Median", Unit.NS, "start to start of the next step of the kind").of(
        lambda row: row.median_ns
    ),
    ResultColumn("p95_ns", "p95", Unit.NS, "start to start, 95th percentile").of(
        lambda row: _rank(row.times.period_ns, 95)
    ),
    ResultColumn("max_ns", "Max", Unit.NS, "start to start, the longest").of(
        lambda row: _rank(row.times.period_ns, 100)
    ),
    ResultColumn("span_median_ns", "Span", Unit.NS, "first op's start to last op's end, median").of(
        lambda row: nearest_rank(row.times.span_ns, 50)
    ),
    ResultColumn("busy_median_ns", "Busy", Unit.NS, "time covered by the step's ops, median").of(
        lambda row: row.busy_ns
    ),
    ResultColumn("busy_p95_ns", "Busy p95", Unit.NS, "time covered, 95th percentile").of(
        lambda row: nearest_rank(row.times.busy_ns, 95)
    ),
    ResultColumn("busy_percent", "Busy %", Unit.PERCENT, "median busy / median start to start").of(
        lambda row: percent_of(row.busy_ns, row.median_ns or 0)
    ),
    ResultColumn(
        "outliers", "Outliers", Unit.COUNT, "steps that take much longer than the median"
    ).of(lambda row: int(row.times.outliers.size) if row.times.is_repeated else None),
)


def _kind_table(lanes: list[_LaneTimes]) -> ResultTable:
    rows = (_Kind(lane, kind) for lane in lanes for kind in lane.kinds)
    return table_of("step_kinds", "Steps by kind", _KIND_COLUMNS, rows)


class _SlowStep(NamedTuple):
    lane: _LaneTimes
    step: int
    kind: StepKindTimes
    start_ns: int
    first_op: int
    taken_ns: int
    over_median_percent: float | None
    extra_busy_ns: int
    largest_gap_ns: int
    gap_before: str


_OUTLIER_COLUMNS: tuple[ColumnOf[_SlowStep], ...] = (
    _GPU.of(lambda row: row.lane.gpu),
    _QUEUE.of(lambda row: row.lane.queue),
    _PROCESS.of(lambda row: row.lane.process),
    ResultColumn("step", "Step", meaning="number of the step on its queue, from 1").of(
        lambda row: row.step + 1
    ),
    ResultColumn("kind", "Kind", meaning="number of the kind of step").of(
        lambda row: row.kind.kind + 1
    ),
    ResultColumn("start_ns", "Start", Unit.TIME, "start of the step's first op").of(
        lambda row: row.start_ns
    ),
    ResultColumn("first_op", "First op", meaning="id of the step's first op").of(
        lambda row: row.first_op
    ),
    ResultColumn("step_ns", "Takes", Unit.NS, "start to start of the next step").of(
        lambda row: row.taken_ns
    ),
    ResultColumn("over_median_percent", "Over median %", Unit.PERCENT, "time / median - 1").of(
        lambda row: row.over_median_percent
    ),
    ResultColumn("extra_busy_ns", "Extra busy", Unit.NS, "busy time above the median's").of(
        lambda row: row.extra_busy_ns
    ),
    ResultColumn("largest_gap_ns", "Largest gap", Unit.NS, "longest idle time within the step").of(
        lambda row: row.largest_gap_ns
    ),
    ResultColumn("gap_before", "Gap before", Unit.NAME, "the op that this gap precedes").of(
        lambda row: row.gap_before
    ),
)


def _outlier_table(trace: Trace, lanes: list[_LaneTimes]) -> ResultTable:
    found = [
        slow
        for lane in lanes
        for kind in lane.kinds
        if kind.is_repeated
        for slow in _slow_steps(trace, lane, kind)
    ]
    found.sort(key=lambda slow: -(slow.over_median_percent or 0.0))
    return table_of("step_outliers", "Slow steps", _OUTLIER_COLUMNS, found)


def _slow_steps(trace: Trace, lane: _LaneTimes, kind: StepKindTimes) -> Iterator[_SlowStep]:
    times = lane.times
    steps, ops = times.steps, times.steps.lane
    taken = dict(zip(kind.main_steps.tolist(), kind.main_ns.tolist(), strict=True))
    median_ns, busy_ns = nearest_rank(kind.main_ns, 50), nearest_rank(kind.busy_ns, 50)
    for step in kind.outliers.tolist():
        first, stop = int(steps.firsts[step]), int(steps.firsts[step + 1])
        # The gap after the last op counts too: the time runs to the start of the next step.
        gaps = ops.gaps_before(np.arange(first + 1, min(stop + 1, len(ops))))
        widest = first + 1 + int(np.argmax(gaps)) if gaps.size else first
        yield _SlowStep(
            lane,
            step,
            kind,
            start_ns=int(times.start_ns[step]),
            first_op=int(trace.ops["id"][ops.rows[first]]),
            taken_ns=taken[step],
            over_median_percent=100 * (taken[step] / median_ns - 1) if median_ns else None,
            extra_busy_ns=int(times.busy_ns[step]) - busy_ns,
            largest_gap_ns=int(gaps.max(initial=0)),
            gap_before=short_op_name(trace, int(ops.rows[widest])),
        )


class _OneStep(NamedTuple):
    """A row of the table of all steps."""

    lane: _LaneTimes
    number: int
    kind: int
    phase: str
    is_warm_up: bool
    start_ns: int
    span_ns: int
    busy_ns: int
    op_count: int


_STEP_COLUMNS: tuple[ColumnOf[_OneStep], ...] = (
    _GPU.of(lambda row: row.lane.gpu),
    _QUEUE.of(lambda row: row.lane.queue),
    _PROCESS.of(lambda row: row.lane.process),
    ResultColumn("step", "Step", meaning="number of the step on its queue, from 1").of(
        lambda row: row.number + 1
    ),
    ResultColumn("kind", "Kind", meaning="number of the kind of step; none: unlike any other").of(
        lambda row: row.kind + 1 if row.kind >= 0 else None
    ),
    ResultColumn("phase", "Phase", meaning="phase of most of its ops, where that is known").of(
        lambda row: row.phase
    ),
    ResultColumn("warm_up", "Warm-up", meaning="whether it is left out of the statistics").of(
        lambda row: row.is_warm_up
    ),
    ResultColumn("start_ns", "Start", Unit.TIME, "start of the step's first op").of(
        lambda row: row.start_ns
    ),
    ResultColumn("span_ns", "Span", Unit.NS, "first op's start to last op's end").of(
        lambda row: row.span_ns
    ),
    ResultColumn("busy_ns", "Busy", Unit.NS, "time covered by the step's ops").of(
        lambda row: row.busy_ns
    ),
    ResultColumn("ops", "Ops", Unit.COUNT, "ops of the step").of(lambda row: row.op_count),
)


def _step_table(lanes: list[_LaneTimes], most: int | None) -> ResultTable:
    total = sum(len(lane.times.steps) for lane in lanes)
    steps = islice((step for lane in lanes for step in _steps_of(lane)), most)
    return table_of("steps", "Every step", _STEP_COLUMNS, steps, total)


def _steps_of(lane: _LaneTimes) -> Iterator[_OneStep]:
    times = lane.times
    warm = {step for kind in lane.kinds for step in kind.warm_up.tolist()}
    columns = zip(
        times.kind_of_step.tolist(),
        lane.phases,
        times.start_ns.tolist(),
        times.span_ns.tolist(),
        times.busy_ns.tolist(),
        times.steps.op_counts.tolist(),
        strict=True,
    )
    for step, (kind, phase, *numbers) in enumerate(columns):
        yield _OneStep(lane, step, kind, phase, step in warm, *numbers)


def _slow_findings(lane: _LaneTimes) -> Iterator[Finding]:
    """Kinds of steps of which some take much longer than the others."""
    gpu, queue = lane.gpu, lane.queue
    for kind in lane.kinds:
        if not kind.is_repeated or not kind.outliers.size:
            continue
        median_ns = nearest_rank(kind.main_ns, 50)
        late_ns = kind.main_ns[kind.main_ns > kind.outlier_above_ns]
        extra_ns = int(late_ns.sum()) - median_ns * int(late_ns.size)
        percent = 100 * extra_ns / int(kind.main_ns.sum())
        if percent >= SLOW_STEPS_PERCENT:
            worst = int(kind.outliers[0])
            yield Finding(
                "slow-steps",
                Severity.WARNING,
                f"{count_text(late_ns.size)} of {count_text(kind.steps.size)} steps of kind "
                f"{kind.kind + 1} on GPU {gpu} take much longer than the median",
                f"median {duration_text(median_ns)}, slowest {duration_text(int(late_ns.max()))}; "
                f"together {duration_text(extra_ns)} more than at the median",
                "the table of slow steps names the op behind the largest gap of each",
                f"gpu {gpu} queue {queue}",
                gain_percent=percent,
                gain_basis="all slow steps at the median, of the time of all steps of the kind",
                numbers={
                    "median_ns": median_ns,
                    "slowest_ns": int(late_ns.max()),
                    "slow_steps": int(late_ns.size),
                    "steps": int(kind.steps.size),
                    "slowest_step": worst + 1,
                },
            )
