"""The summary of a trace: the analyses that answer "where does the time go", in reading order."""

from __future__ import annotations

from dataclasses import dataclass, field

from wavescope.analyze.operators import OperatorOptions, operators_result
from wavescope.analyze.ops.coverage import coverage, sampled_facts, sampled_finding
from wavescope.analyze.ops.op_labels import categories, unresolved_symbols
from wavescope.analyze.quick_findings import input_repaired
from wavescope.analyze.summary.busy_time import GapOptions, gaps, utilization
from wavescope.analyze.summary.copies import copies
from wavescope.analyze.summary.host_side import host_calls, launch_latency
from wavescope.analyze.summary.kernels import KernelSummaryOptions, kernel_summary, listed_rows
from wavescope.model.op_kinds import OpClass
from wavescope.model.result import Result, Value
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import CategoryRules

_OP_COLUMNS = ("gpu", "queue", "start_ns", "end_ns", "name", "type")


@dataclass(frozen=True)
class SummaryOptions:
    """What the summary lists, and how much of it."""

    kernels: KernelSummaryOptions = field(default_factory=KernelSummaryOptions)
    gaps: GapOptions = field(default_factory=GapOptions)
    operators: OperatorOptions = field(default_factory=OperatorOptions)
    work: bool = False
    """Whether to add how near to the peaks of their GPU operators run."""


def summarize(trace: Trace, options: SummaryOptions | None = None) -> Result:
    """Kernels, categories, operators, utilization, gaps, copies, host calls, coverage, findings."""
    options = options or SummaryOptions()
    trace.ops.load(*_OP_COLUMNS)
    rules = options.kernels.rules
    # Kernels go first: GPU timelines, which are kept, then use again the memory that they needed.
    parts = [
        kernel_summary(trace, options.kernels),
        categories(trace, CategoryRules(rules) if rules is not None else None),
        operators_result(trace, listed_rows(trace, options.kernels.ops), options.operators),
        utilization(trace),
        gaps(trace, options.gaps),
        copies(trace),
        *_collectives(trace),
        *((host_calls(trace), launch_latency(trace)) if len(trace.calls) else ()),
        unresolved_symbols(trace),
        coverage(trace),
    ]
    facts: dict[str, Value] = {
        "path": trace.path,
        "format": trace.format,
        **sampled_facts(trace),
        "op_count": len(trace.ops),
        "marker_count": len(trace.markers),
        "call_count": len(trace.calls),
    }
    found = [*sampled_finding(trace), *input_repaired(trace)]
    return Result("Summary", facts=facts).with_parts(parts).with_findings(found)


def _collectives(trace: Trace) -> list[Result]:
    """The collectives of a trace that has some; few have, and others need not import them."""
    if not (trace.op_class == OpClass.COMMUNICATION).any():
        return []
    from wavescope.analyze.collectives import collectives_result  # noqa: PLC0415

    return [collectives_result(trace)]
