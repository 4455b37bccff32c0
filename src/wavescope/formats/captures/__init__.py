"""Readers of thread-trace (ATT) captures: folders, their parents, and archives of them."""

from wavescope.formats.captures.capture import ReadOptions, load_capture
from wavescope.formats.captures.locations import (
    CaptureLocation,
    find_captures,
    holds_captures,
    only_capture,
)

__all__ = [
    "CaptureLocation",
    "ReadOptions",
    "find_captures",
    "holds_captures",
    "load_capture",
    "only_capture",
]
