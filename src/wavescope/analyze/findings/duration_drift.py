"""Kernels that get slower (or faster) in the course of a run, as clocks and temperature change."""

from __future__ import annotations

import math
import re
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import (
    FindingContext,
    by_launch_size,
    calls_of,
    nearest_rank_median,
)
from wavescope.analyze.quick_findings import evidence_sql
from wavescope.model.columns import MONITORS
from wavescope.model.result import Finding, Severity
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import short_name
from wavescope.units import duration_text

ID = "duration-drift"
_EXAMINED = 20
_WARM_UP = 0.05
_PART = 0.2
"""Early and late calls are the first and last fifth, after the warm-up."""
_NEXT_STEP = (
    "record clocks, power and temperature (monitors) beside the trace: throttling slows all "
    "kernels alike; growing work (longer contexts) slows only some"
)
_NEXT_STEP_WITH_CLOCK = (
    "if the clock fell as much as kernels slowed down, look at power cap and cooling, or fix the "
    "clock for measurements; if not, the work grew or another program shares the GPU"
)
_SIGNIFICANT = 4.0
"""Standard errors of a median that a change must exceed."""


class _Change(NamedTuple):
    """A kernel's median early and late in the run."""

    label: int
    calls: int
    total_ns: int
    early_ns: int
    late_ns: int
    is_significant: bool

    @property
    def percent(self) -> float:
        return 100 * (self.late_ns - self.early_ns) / self.early_ns if self.early_ns else 0.0


def duration_drift(context: FindingContext) -> list[Finding]:
    """One finding if most of the examined kernels changed the same way, or none."""
    limits = context.thresholds
    changes = [change for label in _examined(context) for change in _change(context, label)]
    whole_ns = sum(change.total_ns for change in changes)
    for direction in (1, -1):
        moved = [
            change
            for change in changes
            if change.is_significant and direction * change.percent >= limits.drift_percent
        ]
        moved_ns = sum(change.total_ns for change in moved)
        agree = 100 * moved_ns >= limits.drift_agreement_percent * whole_ns
        if len(moved) >= limits.drift_kernels and agree:
            return [_finding(moved, whole_ns, context)]
    return []


def _examined(context: FindingContext) -> list[int]:
    """The compute kernels with most time and enough calls."""
    statistics = context.by_label
    ranked = sorted(
        (
            (-total, label)
            for label, calls, total in zip(
                statistics.groups.tolist(),
                statistics.counts.tolist(),
                statistics.totals,
                strict=True,
            )
            if calls >= context.thresholds.drift_calls
        ),
    )
    chosen = []
    for _, label in ranked:
        row = int(np.argmax(context.label_of_op == label))
        if context.compute_kernels[row]:
            chosen.append(label)
        if len(chosen) == _EXAMINED:
            break
    return chosen


def _change(context: FindingContext, label: int) -> list[_Change]:
    """The change of the most frequent launch size of a kernel, on the GPU that ran it most."""
    rows = calls_of(context, label)
    gpus = context.trace.ops["gpu"][rows]
    numbers, counts = np.unique(gpus, return_counts=True)
    rows = rows[gpus == numbers[np.argmax(counts)]]
    change = _measured(context, label, rows)
    # A kernel that shows no change needs no launch sizes, which may take long to load.
    if change.is_significant and abs(change.percent) >= context.thresholds.drift_percent:
        rows = by_launch_size(context, rows)[0]
        change = _measured(context, label, rows)
    return [change] if len(rows) >= context.thresholds.drift_calls else []


def _measured(context: FindingContext, label: int, rows: npt.NDArray[np.int64]) -> _Change:
    starts = context.trace.ops["start_ns"][rows]
    ordered = rows if np.all(starts[1:] >= starts[:-1]) else rows[np.argsort(starts)]
    skipped = int(_WARM_UP * len(ordered))
    part = max(1, int(_PART * (len(ordered) - skipped)))
    durations = context.durations_ns
    early = durations[ordered[skipped : skipped + part]].astype(np.int64)
    late = durations[ordered[-part:]].astype(np.int64)
    early_ns, late_ns = nearest_rank_median(early), nearest_rank_median(late)
    error_ns = math.hypot(_median_error(early, early_ns), _median_error(late, late_ns))
    return _Change(
        label,
        len(rows),
        int(durations[rows].sum(dtype=np.float64)),
        early_ns,
        late_ns,
        abs(late_ns - early_ns) > _SIGNIFICANT * error_ns,
    )


def _median_error(values: npt.NDArray[np.int64], median_ns: int) -> float:
    """The standard error of a median, from the median absolute deviation."""
    deviation = float(np.median(np.abs(values - median_ns)))
    return 1.2533 * 1.4826 * deviation / math.sqrt(len(values))


def _finding(moved: list[_Change], whole_ns: int, context: FindingContext) -> Finding:
    moved = sorted(moved, key=lambda change: -change.total_ns)
    moved_ns = sum(change.total_ns for change in moved)
    mean = sum(change.percent * change.total_ns for change in moved) / moved_ns
    texts = context.labels.texts
    examples = "; ".join(
        f"{short_name(texts[change.label])} {duration_text(change.early_ns)} -> "
        f"{duration_text(change.late_ns)} ({change.percent:+.1f} %)"
        for change in moved[:3]
    )
    slower = mean > 0
    clock = clock_change(context.trace)
    sampled = (
        f"; the clock went from {clock.early:.0f} to {clock.late:.0f} ({clock.percent:+.1f} %)"
        if clock is not None
        else ""
    )
    return Finding(
        ID,
        Severity.WARNING if slower else Severity.INFO,
        f"Kernels got {abs(mean):.1f} % {'slower' if slower else 'faster'} during the run",
        f"{len(moved)} kernels with {100 * moved_ns / whole_ns:.0f} % of the examined time, median "
        f"of the late against the early fifth of their calls: {examples}{sampled}",
        _NEXT_STEP if clock is None else _NEXT_STEP_WITH_CLOCK,
        "trace",
        gain_percent=100 * (1 - 1 / (1 + mean / 100)) / 2 if slower else None,
        gain_basis="all calls as fast as the early ones, the change being gradual"
        if slower
        else "",
        sql=evidence_sql.over_time_sql(texts[moved[0].label]),
        numbers={
            "kernels": len(moved),
            "change_percent": mean,
            "example": texts[moved[0].label],
            "early_ns": moved[0].early_ns,
            "late_ns": moved[0].late_ns,
            "clock_change_percent": clock.percent if clock is not None else None,
        },
    )


_CLOCK = re.compile(r"sclk|gfx_?clk|graphics.*clock|engine.*clock|sm_?clock", re.IGNORECASE)
_NUMBER = re.compile(r"\d+(?:\.\d+)?")
_SAMPLED_PART = 0.2
_FEWEST_SAMPLES = 10
_NAME_LIMIT = 256


class ClockChange(NamedTuple):
    """The mean clock in the first and last fifth of the samples, in the unit they have."""

    early: float
    late: float

    @property
    def percent(self) -> float:
        return 100 * (self.late - self.early) / self.early if self.early else 0.0


def clock_change(trace: Trace) -> ClockChange | None:
    """How the engine clock of the GPUs changed; None where it was not sampled."""
    table = trace.table(MONITORS)
    if not len(table):
        return None
    table.load("quantity", "start_ns", "value")
    names = {code: trace.strings[code] for code in np.unique(table["quantity"]).tolist()}
    clocks = [code for code, text in names.items() if _CLOCK.search(text[:_NAME_LIMIT])]
    rows = np.flatnonzero(np.isin(table["quantity"], clocks))
    if len(rows) < _FEWEST_SAMPLES:
        return None
    rows = rows[np.argsort(table["start_ns"][rows], kind="stable")]
    part = max(1, int(_SAMPLED_PART * len(rows)))
    early, late = (_mean(trace, table["value"][some]) for some in (rows[:part], rows[-part:]))
    return ClockChange(early, late) if early is not None and late is not None else None


def _mean(trace: Trace, codes: npt.NDArray[np.int32]) -> float | None:
    found = [_NUMBER.search(trace.strings[code][:_NAME_LIMIT]) for code in codes.tolist()]
    values = [float(each.group()) for each in found if each is not None]
    return sum(values) / len(values) if values else None
