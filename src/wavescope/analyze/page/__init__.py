"""Everything that the page of a trace, or of several beside each other, shows."""

from wavescope.analyze.page.time_shares import HotKernels, phase_colouring
from wavescope.analyze.page.trace_report import (
    KernelDurations,
    ReportOptions,
    TraceReport,
    report_of,
)
from wavescope.analyze.page.trace_trends import Metric, Trends, change_percent, trends

__all__ = [
    "HotKernels",
    "KernelDurations",
    "Metric",
    "ReportOptions",
    "TraceReport",
    "Trends",
    "change_percent",
    "phase_colouring",
    "report_of",
    "trends",
]
