"""Where the time of a trace goes, and what a trace holds.

More than six names go out: pages and flame graphs choose ops and name kernels as the summary does.
"""

from wavescope.analyze.summary.busy_time import GapOptions, utilization
from wavescope.analyze.summary.kernels import (
    KernelNaming,
    KernelSummaryOptions,
    OpChoice,
    Scope,
    kernel_summary,
    listed_rows,
)
from wavescope.analyze.summary.trace_summary import SummaryOptions, summarize

__all__ = [
    "GapOptions",
    "KernelNaming",
    "KernelSummaryOptions",
    "OpChoice",
    "Scope",
    "SummaryOptions",
    "kernel_summary",
    "listed_rows",
    "summarize",
    "utilization",
]
