"""Where the time of a trace goes, and what a trace holds."""

from wavescope.analyze.summary.gaps import GapOptions
from wavescope.analyze.summary.kernel_summary import (
    KernelNaming,
    KernelSummaryOptions,
    OpChoice,
    Scope,
    kernel_summary,
)
from wavescope.analyze.summary.trace_summary import SummaryOptions, summarize
from wavescope.analyze.summary.utilization import utilization

__all__ = [
    "GapOptions",
    "KernelNaming",
    "KernelSummaryOptions",
    "OpChoice",
    "Scope",
    "SummaryOptions",
    "kernel_summary",
    "summarize",
    "utilization",
]
