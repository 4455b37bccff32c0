"""The summary of a trace: the analyses that answer "where does the time go", in reading order."""

from __future__ import annotations

from dataclasses import dataclass, field

from wavescope.analyze.findings.input_repaired import input_repaired
from wavescope.analyze.ops.categories import categories
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.summary.copies import copies
from wavescope.analyze.summary.coverage import coverage
from wavescope.analyze.summary.gaps import gaps
from wavescope.analyze.summary.kernel_summary import KernelSummaryOptions, kernel_summary
from wavescope.analyze.summary.utilization import utilization
from wavescope.model.result import Result
from wavescope.model.trace import Trace
from wavescope.names.kernel_meaning import CategoryRules

_OP_COLUMNS = ("gpu", "queue", "start_ns", "end_ns", "name", "type")


@dataclass(frozen=True)
class SummaryOptions:
    """What the summary shows beyond its parts' defaults."""

    kernels: KernelSummaryOptions = field(default_factory=KernelSummaryOptions)
    rows: int | None = None
    """Rows of each table that are kept; all by default."""


def summarize(trace: Trace, options: SummaryOptions) -> Result:
    """Kernels, categories, utilization, gaps, copies, host calls, coverage and findings."""
    trace.ops.load(*_OP_COLUMNS)
    result = Result("Summary", facts={"path": trace.path, "format": trace.format})
    result.facts["op_count"] = len(trace.ops)
    result.facts["marker_count"] = len(trace.markers)
    kernels = kernel_summary(trace, options.kernels)
    rules = options.kernels.rules
    by_category = categories(trace, CategoryRules(rules) if rules is not None else None)
    timelines = gpu_timelines(trace)  # only now: they use again the memory that kernels needed
    parts = [
        kernels,
        by_category,
        utilization(trace, timelines=timelines),
        gaps(trace, timelines=timelines),
        copies(trace),
    ]
    result.facts["call_count"] = len(trace.calls)
    if len(trace.calls):
        parts += _host_parts(trace)
    parts.append(coverage(trace))
    result.extend(parts)
    result.findings.extend(input_repaired(trace))
    if options.rows is not None:
        result.tables = [table.head(options.rows) for table in result.tables]
    return result


def _host_parts(trace: Trace) -> list[Result]:
    from wavescope.analyze.summary.host_calls import host_calls  # noqa: PLC0415  only with host calls
    from wavescope.analyze.summary.launch_latency import launch_latency  # noqa: PLC0415

    return [host_calls(trace), launch_latency(trace)]
