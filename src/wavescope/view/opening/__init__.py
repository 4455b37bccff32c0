"""Traces that are looked at while they are read, and what is kept of them for the next time."""

from wavescope.view.opening.trace_view import Loaded, TraceView

__all__ = ["Loaded", "TraceView"]
