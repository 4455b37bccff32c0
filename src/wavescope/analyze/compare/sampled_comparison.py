"""Traces of which at least one was recorded in slices, compared by what slices say of the runs.

A difference is told only where the intervals allow it: its own 95 % interval has both, added up as
independent errors. Operators and steps are not compared: slices do not show them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare.renames import chips_of
from wavescope.analyze.ops.busy_estimates import busy_estimate
from wavescope.analyze.ops.busy_timelines import busy_timelines
from wavescope.analyze.ops.coverage import recorded, sampled_finding
from wavescope.analyze.ops.op_labels import named_ops, op_categories
from wavescope.analyze.ops.slice_estimates import (
    Estimate,
    GroupedOps,
    GroupEstimates,
    estimated_groups,
)
from wavescope.analyze.ops.utilization import gpu_utilizations
from wavescope.analyze.phases import phases_of
from wavescope.arrays import Array
from wavescope.arrays.groups import group_sums
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Unit,
    Value,
    table_of,
)
from wavescope.model.trace import Trace
from wavescope.units import percent_of

_UNSEEN = Estimate(0.0, None, None)
"""Of what no slice shows: it may have run outside of them."""


class Shares(NamedTuple):
    """The share of the time and the total of one part of a trace."""

    percent: Estimate
    total_ns: Estimate | None


class _Row(NamedTuple):
    trace: int
    name: str
    base: Shares | None
    """None where no such op was seen."""
    new: Shares | None

    @property
    def base_percent(self) -> Estimate:
        return _UNSEEN if self.base is None else self.base.percent

    @property
    def new_percent(self) -> Estimate:
        return _UNSEEN if self.new is None else self.new.percent

    @property
    def delta(self) -> Estimate:
        """How many points the share grew, with the interval of the difference."""
        return _difference(self.base_percent, self.new_percent)

    @property
    def verdict(self) -> str:
        """Whether the share differs by more than slices leave open."""
        if self.base is None or self.new is None:
            return f"seen only in trace {self.trace if self.base is None else 1}"
        delta = self.delta
        if delta.low is None or delta.high is None:
            return "not told: too few slices"
        if delta.low > 0:
            return "larger share"
        return "smaller share" if delta.high < 0 else "not told apart"


def _difference(base: Estimate, new: Estimate) -> Estimate:
    value = new.value - base.value
    if base.low is None or base.high is None or new.low is None or new.high is None:
        return Estimate(value, None, None)
    down = np.hypot(new.value - new.low, base.high - base.value)
    up = np.hypot(new.high - new.value, base.value - base.low)
    return Estimate(value, value - float(down), value + float(up))


@dataclass(frozen=True)
class Part:
    """What traces are compared by: the parts of each, and the part of each op (-1 for none)."""

    table: str
    title: str
    groups: Callable[[Trace], tuple[Sequence[str], Array]]


def _categories(trace: Trace) -> tuple[Sequence[str], Array]:
    found = trace.derived(op_categories)
    return found.labels, found.codes


def _kernels(trace: Trace) -> tuple[Sequence[str], Array]:
    found = trace.derived(named_ops)
    return found.names, found.of_op


def _phases(trace: Trace) -> tuple[Sequence[str], Array]:
    found = trace.derived(phases_of)
    return [found.outside_label, *found.labels], found.codes + 1


CATEGORIES = Part("categories", "Categories", _categories)
KERNELS = Part("kernels", "Kernels", _kernels)
PHASES = Part("phases", "Phases", _phases)


def is_sampled(traces: Sequence[Trace]) -> bool:
    """Whether any of the traces was recorded in slices."""
    return any(recorded(trace) is not None for trace in traces)


def sampled_comparison(traces: Sequence[Trace], parts: Sequence[Part]) -> Result:
    """Table `traces`, and for each part the shares and totals beside those of the base."""
    tables = [_trace_table(traces)]
    first = ""
    for part in parts:
        shares = [part_shares(trace, part) for trace in traces]
        rows = [
            _Row(number, name, shares[0].get(name), new.get(name))
            for number, new in enumerate(shares[1:], 2)
            for name in dict.fromkeys((*shares[0], *new))
        ]
        rows.sort(key=lambda row: (row.trace, -abs(row.delta.value), row.name))
        tables.append(table_of(part.table, part.title, _COLUMNS, rows))
        first = first or _headline(rows)
    found = [_told_of(number, trace) for number, trace in enumerate(traces, 1)]
    return Result("Comparison", tables, [each for part in found for each in part], _facts(first))


def _facts(headline: str) -> dict[str, Value]:
    return {
        "headline": headline,
        "not_compared": "operators and steps: slices of a run do not show them",
    }


def _told_of(number: int, trace: Trace) -> list[Finding]:
    return [each._replace(where=f"trace {number}") for each in sampled_finding(trace)]


def _headline(rows: Sequence[_Row]) -> str:
    sentences = []
    for number in sorted({row.trace for row in rows}):
        told = [row for row in rows if row.trace == number and row.verdict.endswith("share")]
        if not told:
            sentences.append(f"trace {number}: no share differs by more than the slices leave open")
            continue
        words = ", ".join(f"{row.name} {row.delta.value:+.1f} points" for row in told[:3])
        sentences.append(f"trace {number}: {words} of the GPU time")
    return "; ".join(sentences)


def part_shares(trace: Trace, part: Part) -> dict[str, Shares]:
    """The parts of one trace that have ops; exact where everything was recorded."""
    labels, groups = part.groups(trace)
    groups = groups.astype(np.int64)
    found = recorded(trace)
    if found is None:
        rows = np.flatnonzero(trace.op_kind != OpKind.BARRIER)
        exact = _exact(groups[rows], trace.op_length_ns[rows], len(labels))
        counts = np.bincount(groups[rows], minlength=len(labels))
    else:
        rows = np.flatnonzero(found.is_seen)
        exact = estimated_groups(
            found, GroupedOps(rows, groups[rows], trace.op_length_ns[rows], len(labels))
        )
        counts = np.bincount(groups[rows], minlength=len(labels))
    return {
        label: Shares(exact.shares[number] or _UNSEEN, exact.totals_ns[number])
        for number, label in enumerate(labels)
        if counts[number]
    }


def _exact(groups: Array, durations_ns: Array, group_count: int) -> GroupEstimates:
    totals = group_sums(groups, durations_ns, group_count)
    whole = sum(totals)
    counts = np.bincount(groups, minlength=group_count).tolist()
    return GroupEstimates(
        [_certain(percent_of(total, whole) or 0.0) for total in totals],
        [_certain(float(total)) for total in totals],
        [_certain(float(count)) for count in counts],
    )


def _certain(value: float) -> Estimate:
    return Estimate(value, value, value)


def _ns(value: float | None) -> int | None:
    return None if value is None else round(value)


def _total(shares: Shares | None, place: int) -> int | None:
    return None if shares is None or shares.total_ns is None else _ns(shares.total_ns[place])


_COLUMNS: tuple[ColumnOf[_Row], ...] = (
    ResultColumn("trace", "Trace", meaning="number; 1 is the base").of(lambda row: row.trace),
    ResultColumn("name", "Name", Unit.NAME, "what is compared").of(lambda row: row.name),
    ResultColumn("base_percent", "Base %", Unit.PERCENT, "share of the base's GPU time").of(
        lambda row: row.base_percent.value
    ),
    ResultColumn("new_percent", "New %", Unit.PERCENT, "share of the GPU time").of(
        lambda row: row.new_percent.value
    ),
    ResultColumn("delta_percent", "Points", Unit.PERCENT, "new share - base share").of(
        lambda row: row.delta.value
    ),
    ResultColumn("delta_low_percent", "low", Unit.PERCENT, "lower end of its 95 % interval").of(
        lambda row: row.delta.low
    ),
    ResultColumn("delta_high_percent", "high", Unit.PERCENT, "upper end of its 95 % interval").of(
        lambda row: row.delta.high
    ),
    ResultColumn("verdict", "Verdict", Unit.NAME, "whether the interval leaves out 0").of(
        lambda row: row.verdict
    ),
    *(
        ResultColumn(f"{which}_total{end}_ns", title, Unit.NS, meaning).of(value)
        for which, end, title, meaning, value in (
            ("base", "", "Base total", "time in the base's run", lambda row: _total(row.base, 0)),
            (
                "base",
                "_low",
                "low",
                "lower end of its 95 % interval",
                lambda row: _total(row.base, 1),
            ),
            (
                "base",
                "_high",
                "high",
                "upper end of its 95 % interval",
                lambda row: _total(row.base, 2),
            ),
            ("new", "", "New total", "time in the run", lambda row: _total(row.new, 0)),
            (
                "new",
                "_low",
                "low",
                "lower end of its 95 % interval",
                lambda row: _total(row.new, 1),
            ),
            (
                "new",
                "_high",
                "high",
                "upper end of its 95 % interval",
                lambda row: _total(row.new, 2),
            ),
        )
    ),
)


class _TraceRow(NamedTuple):
    number: int
    trace: Trace

    @property
    def busy(self) -> Estimate | None:
        timelines = self.trace.derived(busy_timelines)
        found = recorded(self.trace)
        if found is not None:
            return busy_estimate(timelines, found)
        times = [gpu.time for gpu in gpu_utilizations(timelines)]
        busy = percent_of(sum(time.busy_ns for time in times), sum(time.span_ns for time in times))
        return None if busy is None else _certain(busy)

    def busy_value(self, place: int) -> float | None:
        busy = self.busy
        return None if busy is None else busy[place]

    @property
    def slices(self) -> tuple[int | None, int | None]:
        found = recorded(self.trace)
        return (None, None) if found is None else (len(found), found.total_ns)


_TRACE_COLUMNS: tuple[ColumnOf[_TraceRow], ...] = (
    ResultColumn("trace", "Trace", meaning="number; 1 is the base").of(lambda row: row.number),
    ResultColumn("path", "Path", Unit.NAME, "the file").of(lambda row: row.trace.path),
    ResultColumn("gpu_model", "GPU", Unit.NAME, "product or chip, where the trace says so").of(
        lambda row: ", ".join(chips_of(row.trace)) or None
    ),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops in the trace").of(
        lambda row: len(row.trace.ops)
    ),
    ResultColumn("slice_count", "Slices", Unit.COUNT, "none: everything was recorded").of(
        lambda row: row.slices[0]
    ),
    ResultColumn("slice_total_ns", "In slices", Unit.NS, "slices added up").of(
        lambda row: row.slices[1]
    ),
    ResultColumn("busy_percent", "Busy %", Unit.PERCENT, "busy time of GPUs, of slices or all").of(
        lambda row: row.busy_value(0)
    ),
    ResultColumn("busy_low_percent", "low", Unit.PERCENT, "lower end of its 95 % interval").of(
        lambda row: row.busy_value(1)
    ),
    ResultColumn("busy_high_percent", "high", Unit.PERCENT, "upper end of its 95 % interval").of(
        lambda row: row.busy_value(2)
    ),
)


def _trace_table(traces: Sequence[Trace]) -> ResultTable:
    rows = [_TraceRow(number, trace) for number, trace in enumerate(traces, 1)]
    return table_of("traces", "Traces", _TRACE_COLUMNS, rows)
