"""Everything the report of one trace shows, computed in one go."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.contents import overview
from wavescope.analyze.findings import findings_result
from wavescope.analyze.operators import OperatorOptions, OperatorPart
from wavescope.analyze.ops.coverage import recorded
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.op_labels import NamedOps, named_ops, op_categories
from wavescope.analyze.page.time_shares import (
    HotKernels,
    SharedTime,
    class_shares,
    hot_kernels,
    phase_colouring,
)
from wavescope.analyze.phases import phases_of
from wavescope.analyze.steps import steps_of, steps_result
from wavescope.analyze.summary import (
    GapOptions,
    KernelSummaryOptions,
    OpChoice,
    SummaryOptions,
    summarize,
)
from wavescope.analyze.timeline import Colouring, OpNames, Timeline, TimelineOptions, timeline
from wavescope.analyze.work import work_result
from wavescope.arrays import Array
from wavescope.arrays.coded_columns import BLOCK_ROWS, blocks, looked_up
from wavescope.model.result import Finding, Result, ResultTable
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import ATTENTION

_OCTAVE_BITS = 4
BINS_PER_OCTAVE = 1 << _OCTAVE_BITS
_MANTISSA_BITS = 52 - _OCTAVE_BITS
_LOWEST = 1023 << _OCTAVE_BITS  # the bits of 1.0
BIN_COUNT = 63 * BINS_PER_OCTAVE + 1
"""Bin 0 holds durations below 1 ns."""
_OP_COLUMNS = ("id", "gpu", "queue", "start_ns", "end_ns", "name", "type", "process", "marker")
"""What all parts of a report need, read in one pass over the file."""


class DurationHistograms(NamedTuple):
    """Counts [group, bin] of the bins from `first_bin` on."""

    first_bin: int
    counts: npt.NDArray[np.int64]

    def edges_ns(self) -> list[float]:
        """The lower edge of each bin and the upper edge of the last."""
        last = self.first_bin + self.counts.shape[1]
        return [lower_edge_ns(bin_number) for bin_number in range(self.first_bin, last + 1)]


def lower_edge_ns(bin_number: int) -> float:
    """The shortest duration of a bin."""
    if bin_number == 0:
        return 0.0
    octave, part = divmod(bin_number - 1, BINS_PER_OCTAVE)
    return 2.0**octave * (1 + part / BINS_PER_OCTAVE)


def duration_histograms(groups: Array, durations_ns: Array, group_count: int) -> DurationHistograms:
    """The histograms of the groups 0 to `group_count` - 1; bins that all leave empty are cut."""
    counts = np.zeros(group_count * BIN_COUNT, np.int64)
    for rows in blocks(len(groups), max(BLOCK_ROWS, 8 * len(counts))):
        cells = groups[rows].astype(np.int64) * BIN_COUNT + _bins(durations_ns[rows])
        counts += np.bincount(cells, minlength=len(counts))
    table = counts.reshape(group_count, BIN_COUNT)
    used = np.flatnonzero(table.any(axis=0))
    if not used.size:
        return DurationHistograms(0, table[:, :0])
    first, stop = int(used[0]), int(used[-1]) + 1
    return DurationHistograms(first, table[:, first:stop])


def _bins(durations_ns: Array) -> npt.NDArray[np.int64]:
    bits = durations_ns.astype(np.float64).view(np.int64) >> _MANTISSA_BITS
    bins: npt.NDArray[np.int64] = np.maximum(bits - (_LOWEST - 1), 0)
    return bins


_SUMMARY = SummaryOptions(
    KernelSummaryOptions(ops=OpChoice.ALL),
    GapOptions(largest=25),
    OperatorOptions((OperatorPart.OPERATOR, OperatorPart.SHAPE, OperatorPart.MODULE)),
)
"""Copies and fills are listed among the kernels, and more of the gaps than on a screen."""


@dataclass(frozen=True)
class ReportOptions:
    """How much of a trace its report keeps."""

    timeline: TimelineOptions = field(default_factory=TimelineOptions)
    summary: SummaryOptions = field(default=_SUMMARY)
    hot_kernels: int = 10
    histograms: int = 200
    """Kernels, by time, of which the durations are shown."""

    @classmethod
    def for_one_of(cls, trace_count: int) -> ReportOptions:
        """How much of each of several traces one page has room for."""
        whole = TimelineOptions()
        share = TimelineOptions(
            bins=whole.bins // trace_count,
            ops=whole.ops // trace_count,
            markers=whole.markers // trace_count,
        )
        return cls(timeline=share)


@dataclass(frozen=True)
class KernelDurations:
    """The durations of the kernels that take most time; one row of `counts` for each name."""

    names: list[str]
    histograms: DurationHistograms


@dataclass(frozen=True)
class TraceReport:
    """The data of one trace's report."""

    overview: Result
    summary: Result
    """Kernels, utilization, gaps, copies, host calls, latency and coverage."""
    timeline: Timeline
    op_names: OpNames
    category_shares: list[SharedTime]
    phases: list[HotKernels]
    steps: Result | None
    """Steps of a language model, where there is one."""
    durations: KernelDurations
    findings: list[Finding]
    idle: ResultTable
    """The idle time of every GPU over what the host did during it."""
    work: Result
    """How near to the peaks of their GPU operators run."""

    @property
    def decode_step_ns(self) -> float | None:
        """The median decode step of the queue with most of them."""
        rows = [] if self.steps is None else self.steps.table("step_kinds").records()
        counted = [
            (int(row["steps"] or 0), float(row["median_ns"]))
            for row in rows
            if row["phase"] == "decode" and row["median_ns"] is not None
        ]
        return max(counted)[1] if counted else None


def report_of(trace: Trace, options: ReportOptions | None = None) -> TraceReport:
    """The report's data; names are as long as the trace has them."""
    options = options or ReportOptions()
    trace.ops.load(*_OP_COLUMNS)
    found = trace.derived(op_categories)
    categories = Colouring.of_used("category", "Category", found.labels, found.codes)
    with trace.ops.borrowed():
        phases, steps = _phases_and_steps(trace, ATTENTION in categories.labels)
    told = findings_result(trace)
    summary = summarize(trace, options.summary)
    colourings = [categories, *([phases] if phases else [])]
    drawn = timeline(trace, trace.derived(gpu_timelines), colourings, options.timeline)
    named = named_ops(trace)
    seen = _SeenOps.of(trace, categories, phases)
    return TraceReport(
        overview(trace),
        summary,
        drawn,
        _op_names(named, drawn),
        class_shares(seen.categories, seen.durations_ns, seen.gpus, seen.phases),
        hot_kernels(
            seen.phases or _everything(len(seen.gpus)),
            seen.named(named),
            seen.durations_ns,
            options.hot_kernels,
        ),
        steps,
        _kernel_durations(summary, seen.named(named), seen.durations_ns, options.histograms),
        list(told.findings),
        told.table("idle"),
        work_result(trace),
    )


@dataclass(frozen=True)
class _SeenOps:
    """The ops that shares are of: all, or of a sampled trace those that stand for what ran."""

    rows: Array | None
    categories: Colouring
    phases: Colouring | None
    durations_ns: Array
    gpus: Array

    @classmethod
    def of(cls, trace: Trace, categories: Colouring, phases: Colouring | None) -> _SeenOps:
        """The ops of `trace`, coloured by category and phase."""
        found = recorded(trace)
        if found is None:
            return cls(None, categories, phases, trace.op_length_ns, trace.ops["gpu"])
        rows = np.flatnonzero(found.is_seen)
        return cls(
            rows,
            categories._replace(of_op=categories.of_op[rows]),
            None if phases is None else phases._replace(of_op=phases.of_op[rows]),
            trace.op_length_ns[rows],
            trace.ops["gpu"][rows],
        )

    def named(self, named: NamedOps) -> NamedOps:
        """The names of these ops alone."""
        return named if self.rows is None else named._replace(of_op=named.of_op[self.rows])


def _phases_and_steps(
    trace: Trace, is_language_model: bool
) -> tuple[Colouring | None, Result | None]:
    """The phases, and the steps of a language model, which is known by its attention kernels."""
    phases = trace.derived(phases_of)
    colouring = phase_colouring(trace.op_length_ns, phases)
    if not is_language_model or recorded(trace) is not None:
        return colouring, None
    steps = steps_of(
        trace,
        marked=None if phases.marked is None else phases.marked.marked_ops,
        repeated=None if phases.found is None else phases.found.steps,
    )
    return colouring, steps_result(steps, phases.labels, phases.codes)


def _everything(op_count: int) -> Colouring:
    """One phase for all, where no phases are known."""
    return Colouring("phase", "Phase", ("all ops",), np.zeros(op_count, np.uint8))


def _op_names(named: NamedOps, drawn: Timeline) -> OpNames:
    used, of_op = np.unique(named.of_op[drawn.ops.rows], return_inverse=True)
    return OpNames([named.names[index] for index in used.tolist()], of_op.astype(np.uint32))


def _kernel_durations(
    summary: Result, named: NamedOps, durations_ns: Array, most: int
) -> KernelDurations:
    """The histograms of the names that lead the table of kernels."""
    names = [str(name) for name in summary.table("kernels").column("name")[:most]]
    place = {name: number for number, name in enumerate(names)}
    of_name = np.array([place.get(name, len(names)) for name in named.names], np.int64)
    found = duration_histograms(looked_up(of_name, named.of_op), durations_ns, len(names) + 1)
    return KernelDurations(names, found._replace(counts=found.counts[:-1]))
