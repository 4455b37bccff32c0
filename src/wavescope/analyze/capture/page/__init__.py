"""What the page of a capture shows: source beside instructions, waves over time, every table."""

from wavescope.analyze.capture.page.capture_report import CaptureReport, capture_report
from wavescope.analyze.capture.page.code_view import (
    CodeRow,
    CodeView,
    SourceLine,
    SourceView,
    Stall,
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
