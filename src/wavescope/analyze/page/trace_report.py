"""Everything the report of one trace shows, computed in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.findings.context import FindingContext
from wavescope.analyze.findings.find_all import findings_of
from wavescope.analyze.ops.gpu_timelines import GpuTimeline
from wavescope.analyze.page.class_shares import SharedTime, class_shares
from wavescope.analyze.page.colouring import Colouring
from wavescope.analyze.page.duration_histograms import DurationHistograms, duration_histograms
from wavescope.analyze.page.hot_kernels import HotKernels, hot_kernels
from wavescope.analyze.page.named_ops import NamedOps, named_ops
from wavescope.analyze.page.phases import phase_colouring
from wavescope.analyze.page.timeline import Timeline, TimelineOptions, timeline
from wavescope.analyze.phases import forget_launch_sizes, load_launch_sizes
from wavescope.analyze.steps import steps_of, steps_result
from wavescope.analyze.summary.copies import copies
from wavescope.analyze.summary.coverage import coverage
from wavescope.analyze.summary.gaps import GapOptions, gaps
from wavescope.analyze.summary.host_calls import host_calls
from wavescope.analyze.summary.kernel_summary import (
    KernelSummaryOptions,
    OpChoice,
    kernel_summary,
)
from wavescope.analyze.summary.launch_latency import launch_latency
from wavescope.analyze.summary.overview import overview
from wavescope.analyze.summary.utilization import utilization
from wavescope.arrays.array_types import Array
from wavescope.arrays.coded_columns import looked_up
from wavescope.model.result import Finding, Result
from wavescope.model.trace import Trace
from wavescope.names.kernel_meaning import ATTENTION

_CAUSE_COLUMNS = ("marker", "thread")


@dataclass(frozen=True)
class ReportOptions:
    """How much of a trace its report keeps."""

    timeline: TimelineOptions = field(default_factory=TimelineOptions)
    gaps: int = 25
    hot_kernels: int = 10
    histograms: int = 200
    """Kernels, by time, of which the durations are shown."""


@dataclass(frozen=True)
class KernelDurations:
    """The durations of the kernels that take most time; one row of `counts` for each name."""

    names: list[str]
    histograms: DurationHistograms


class OpNames(NamedTuple):
    """Short names, and for each single op of a timeline the place of its own."""

    names: list[str]
    of_op: npt.NDArray[np.uint32]


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
    context = FindingContext(trace)
    durations_ns = context.durations_ns
    named = named_ops(trace)
    found = context.categories
    categories = Colouring.of_used("category", "Category", found.labels, found.codes)
    if ATTENTION in categories.labels:
        # Read in one pass, and let go soon: little needs these columns, and they are large.
        load_launch_sizes(trace, "correlation", "size_bytes")
    copied = copies(trace)
    trace.ops.forget("size_bytes")
    phases, steps = _phases_and_steps(context, categories)
    findings = findings_of(context)
    timelines = context.timelines
    del context  # with gaps and phases that are large and not needed any more
    summary = _summary(trace, timelines, copied, options)
    colourings = [categories, *([phases] if phases else [])]
    drawn = timeline(trace, timelines, colourings, options.timeline)
    return TraceReport(
        overview(trace),
        summary,
        drawn,
        _op_names(named, drawn),
        class_shares(categories, durations_ns, trace.ops["gpu"], phases),
        hot_kernels(phases or _everything(trace), named, durations_ns, options.hot_kernels),
        steps,
        _kernel_durations(summary, named, durations_ns, options.histograms),
        findings,
    )


def _phases_and_steps(
    context: FindingContext, categories: Colouring
) -> tuple[Colouring | None, Result | None]:
    """The phases, and the steps of a language model, which is known by its attention kernels."""
    trace, durations_ns = context.trace, context.durations_ns
    phases = context.phases
    colouring = phase_colouring(durations_ns, phases)
    if ATTENTION not in categories.labels:
        trace.ops.forget(*_CAUSE_COLUMNS)
        return colouring, None
    steps = steps_of(
        trace,
        marked=None if phases.marked is None else phases.marked.marked_ops,
        repeated=None if phases.found is None else phases.found.steps,
    )
    result = steps_result(steps, phases.labels, phases.codes)
    trace.ops.forget(*_CAUSE_COLUMNS, "correlation")
    forget_launch_sizes(trace)
    return colouring, result


def _summary(
    trace: Trace, timelines: Sequence[GpuTimeline], copied: Result, options: ReportOptions
) -> Result:
    """What `wavescope summary` shows, copies and fills listed among the kernels."""
    parts = [
        kernel_summary(trace, KernelSummaryOptions(ops=OpChoice.ALL)),
        utilization(trace, timelines=timelines),
        gaps(trace, GapOptions(largest=options.gaps), timelines=timelines),
        copied,
    ]
    if len(trace.calls):
        parts += [host_calls(trace), launch_latency(trace)]
    return Result("Summary").extend([*parts, coverage(trace)])


def _everything(trace: Trace) -> Colouring:
    """One phase for all, where no phases are known."""
    return Colouring("phase", "Phase", ("all ops",), np.zeros(len(trace.ops), np.uint8))


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
