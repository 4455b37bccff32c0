"""Everything that the page of a trace, or of several beside each other, shows.

More than six names go out: pages draw each part of a report, and the viewer asks for some alone.
"""

from wavescope.analyze.page.time_shares import HotKernels, phase_colouring
from wavescope.analyze.page.trace_report import (
    DurationHistograms,
    KernelDurations,
    ReportOptions,
    TraceReport,
    duration_histograms,
    report_of,
)
from wavescope.analyze.page.trace_trends import Metric, Trends, change_percent, trends

__all__ = [
    "DurationHistograms",
    "HotKernels",
    "KernelDurations",
    "Metric",
    "ReportOptions",
    "TraceReport",
    "Trends",
    "change_percent",
    "duration_histograms",
    "phase_colouring",
    "report_of",
    "trends",
]
