"""Per-step times as a result: one row for each kind of step, the outliers, and every step."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ops.op_labels import short_op_name
from wavescope.analyze.phases.serving_phases import ServingPhase, ServingPhases, serving_phases
from wavescope.analyze.steps.step_times import (
    LaneStepTimes,
    StepKindTimes,
    nearest_rank,
)
from wavescope.model.result import (
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
)
from wavescope.model.trace import Trace
from wavescope.units import count_text, duration_text

SLOW_STEPS_PERCENT = 5.0
"""Slow steps are reported when they cost this share of the time of all steps of their kind."""


class _LaneTimes(NamedTuple):
    times: LaneStepTimes
    phases: list[str]
    kinds: list[StepKindTimes]

    @property
    def place(self) -> tuple[Value, ...]:
        """Values of `_PLACE_COLUMNS`."""
        lane = self.times.steps.lane
        return lane.gpu, lane.queue, lane.process if lane.process >= 0 else None


def steps_result(
    trace: Trace, phases: ServingPhases | None = None, most_steps: int | None = None
) -> Result:
    """Tables `step_kinds`, `step_outliers` and `steps` (the first `most_steps`), and findings."""
    phases = phases or serving_phases(trace)
    lanes = [
        _lane_times(LaneStepTimes.of(steps, codes), codes.tolist())
        for steps, codes in zip(phases.steps.of_lane, phases.step_phases, strict=True)
        if steps.is_repetitive
    ]
    result = Result(
        "Steps",
        [_kind_table(lanes), _outlier_table(trace, lanes), _step_table(lanes, most_steps)],
        [finding for lane in lanes for finding in _slow_findings(lane)],
    )
    result.facts.update(
        {
            "path": trace.path,
            "format": trace.format,
            "step_count": sum(len(lane.times.steps) for lane in lanes),
            "warm_up_steps_left_out": sum(
                int(kind.warm_up.size) for lane in lanes for kind in lane.kinds
            ),
        }
    )
    return result


def _lane_times(times: LaneStepTimes, codes: list[int]) -> _LaneTimes:
    names = [_phase_name(ServingPhase(code)) for code in codes]
    return _LaneTimes(times, names, list(times.kinds()))


def _phase_name(phase: ServingPhase) -> str:
    return "" if phase is ServingPhase.UNCLASSIFIED else phase.name.lower()


_PLACE_COLUMNS = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("queue", "Queue", meaning="queue (or stream) of the GPU"),
    ResultColumn("process", "Process", meaning="process number in the trace"),
)
_KIND_COLUMNS = (
    *_PLACE_COLUMNS,
    ResultColumn(
        "kind", "Kind", meaning="number of the kind of step; none: steps unlike any other"
    ),
    ResultColumn("phase", "Phase", meaning="prefill, decode or shared where that is known"),
    ResultColumn("steps", "Steps", Unit.COUNT, "steps of the kind, warm-up left out"),
    ResultColumn("warm_up", "Warm-up", Unit.COUNT, "first steps left out because they are slow"),
    ResultColumn("irregular", "Irregular", Unit.COUNT, "steps with other kernels than most"),
    ResultColumn("ops", "Ops", Unit.COUNT, "ops of a step (median)"),
    ResultColumn("median_ns", "Median", Unit.NS, "start to start of the next step of the kind"),
    ResultColumn("p95_ns", "p95", Unit.NS, "start to start, 95th percentile"),
    ResultColumn("max_ns", "Max", Unit.NS, "start to start, the longest"),
    ResultColumn("span_median_ns", "Span", Unit.NS, "first op's start to last op's end, median"),
    ResultColumn("busy_median_ns", "Busy", Unit.NS, "time covered by the step's ops, median"),
    ResultColumn("busy_p95_ns", "Busy p95", Unit.NS, "time covered, 95th percentile"),
    ResultColumn("busy_percent", "Busy %", Unit.PERCENT, "median busy / median start to start"),
    ResultColumn("outliers", "Outliers", Unit.COUNT, "steps that take much longer than the median"),
)


def _kind_table(lanes: list[_LaneTimes]) -> ResultTable:
    rows = [_kind_row(lane, kind) for lane in lanes for kind in lane.kinds]
    return ResultTable("step_kinds", "Steps by kind", _KIND_COLUMNS, rows)


def _kind_row(lane: _LaneTimes, kind: StepKindTimes) -> tuple[Value, ...]:
    is_kind = kind.is_repeated
    timed = kind.period_ns.size > 0
    median_ns = nearest_rank(kind.period_ns, 50) if timed else None
    busy_ns = nearest_rank(kind.busy_ns, 50)
    return (
        *lane.place,
        kind.kind + 1 if is_kind else None,
        lane.phases[int(kind.steps[0])],
        int(kind.steps.size),
        int(kind.warm_up.size),
        kind.irregular_count if is_kind else None,
        kind.op_count,
        median_ns,
        nearest_rank(kind.period_ns, 95) if timed else None,
        int(kind.period_ns.max()) if timed else None,
        nearest_rank(kind.span_ns, 50),
        busy_ns,
        nearest_rank(kind.busy_ns, 95),
        100 * busy_ns / median_ns if median_ns else None,
        int(kind.outliers.size) if is_kind else None,
    )


_OUTLIER_COLUMNS = (
    *_PLACE_COLUMNS,
    ResultColumn("step", "Step", meaning="number of the step on its queue, from 1"),
    ResultColumn("kind", "Kind", meaning="number of the kind of step"),
    ResultColumn("start_ns", "Start", Unit.TIME, "start of the step's first op"),
    ResultColumn("first_op", "First op", meaning="id of the step's first op"),
    ResultColumn("step_ns", "Takes", Unit.NS, "start to start of the next step"),
    ResultColumn("over_median_percent", "Over median %", Unit.PERCENT, "time / median - 1"),
    ResultColumn("extra_busy_ns", "Extra busy", Unit.NS, "busy time above the median's"),
    ResultColumn("largest_gap_ns", "Largest gap", Unit.NS, "longest idle time within the step"),
    ResultColumn("gap_before", "Gap before", Unit.NAME, "the op that this gap precedes"),
)

_OVER_MEDIAN = [column.name for column in _OUTLIER_COLUMNS].index("over_median_percent")


def _outlier_table(trace: Trace, lanes: list[_LaneTimes]) -> ResultTable:
    rows = [
        row
        for lane in lanes
        for kind in lane.kinds
        if kind.is_repeated
        for row in _outlier_rows(trace, lane, kind)
    ]
    rows.sort(key=lambda row: -float(row[_OVER_MEDIAN] or 0))
    return ResultTable("step_outliers", "Slow steps", _OUTLIER_COLUMNS, rows)


def _outlier_rows(
    trace: Trace, lane: _LaneTimes, kind: StepKindTimes
) -> Iterator[tuple[Value, ...]]:
    times = lane.times
    steps, ops = times.steps, times.steps.lane
    taken = dict(zip(kind.main_steps.tolist(), kind.main_ns.tolist(), strict=True))
    median_ns, busy_ns = nearest_rank(kind.main_ns, 50), nearest_rank(kind.busy_ns, 50)
    for step in kind.outliers.tolist():
        first, stop = int(steps.firsts[step]), int(steps.firsts[step + 1])
        # The gap after the last op counts too: the time runs to the start of the next step.
        gaps = ops.gaps_before(np.arange(first + 1, min(stop + 1, len(ops))))
        widest = first + 1 + int(np.argmax(gaps)) if gaps.size else first
        yield (
            *lane.place,
            step + 1,
            kind.kind + 1,
            int(times.start_ns[step]),
            int(trace.ops["id"][ops.rows[first]]),
            taken[step],
            100 * (taken[step] / median_ns - 1) if median_ns else None,
            int(times.busy_ns[step]) - busy_ns,
            int(gaps.max(initial=0)),
            short_op_name(trace, int(ops.rows[widest])),
        )


_STEP_COLUMNS = (
    *_PLACE_COLUMNS,
    ResultColumn("step", "Step", meaning="number of the step on its queue, from 1"),
    ResultColumn("kind", "Kind", meaning="number of the kind of step; none: unlike any other"),
    ResultColumn("phase", "Phase", meaning="prefill, decode or shared where that is known"),
    ResultColumn("warm_up", "Warm-up", meaning="whether it is left out of the statistics"),
    ResultColumn("start_ns", "Start", Unit.TIME, "start of the step's first op"),
    ResultColumn("span_ns", "Span", Unit.NS, "first op's start to last op's end"),
    ResultColumn("busy_ns", "Busy", Unit.NS, "time covered by the step's ops"),
    ResultColumn("ops", "Ops", Unit.COUNT, "ops of the step"),
)


def _step_table(lanes: list[_LaneTimes], most: int | None) -> ResultTable:
    rows: list[tuple[Value, ...]] = []
    for lane in lanes:
        times = lane.times
        left = len(times.steps) if most is None else max(0, most - len(rows))
        warm = {step for kind in lane.kinds for step in kind.warm_up.tolist()}
        columns = (
            times.kind_of_step[:left].tolist(),
            lane.phases[:left],
            times.start_ns[:left].tolist(),
            times.span_ns[:left].tolist(),
            times.busy_ns[:left].tolist(),
            times.steps.op_counts[:left].tolist(),
        )
        rows += [
            (
                *lane.place,
                step + 1,
                kind + 1 if kind >= 0 else None,
                phase,
                step in warm,
                *numbers,
            )
            for step, (kind, phase, *numbers) in enumerate(zip(*columns, strict=True))
        ]
    total = sum(len(lane.times.steps) for lane in lanes)
    return ResultTable("steps", "Every step", _STEP_COLUMNS, rows, total)


def _slow_findings(lane: _LaneTimes) -> Iterator[Finding]:
    """Kinds of steps of which some take much longer than the others."""
    gpu, queue, _ = lane.place
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
                f"{count_text(late_ns.size)} of {count_text(kind.main_ns.size)} steps of kind "
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
                    "steps": int(kind.main_ns.size),
                    "slowest_step": worst + 1,
                },
            )
