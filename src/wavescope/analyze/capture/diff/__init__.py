"""Two captures of one kernel compared: by source line and by aligned instructions."""

from wavescope.analyze.capture.diff.differences import capture_diff

__all__ = [
    "capture_diff",
]
