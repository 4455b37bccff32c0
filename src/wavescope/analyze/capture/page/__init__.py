"""What the page of a capture shows: source beside instructions, waves over time, every table.

More than six names go out: a report is a record of views and rows, and the page draws each.
"""

from wavescope.analyze.capture.page.page_data import (
    CaptureReport,
    CodeRow,
    CodeView,
    SourceLine,
    SourceView,
    Stall,
    capture_report,
)

__all__ = [
    "CaptureReport",
    "CodeRow",
    "CodeView",
    "SourceLine",
    "SourceView",
    "Stall",
    "capture_report",
]
