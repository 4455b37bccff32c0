"""Traces that are looked at while they are read, and what is kept of them for the next time."""

from wavescope.view.opening.call_categories import CallCategories
from wavescope.view.opening.trace_view import Loaded, StillReadingError, TraceView

__all__ = ["CallCategories", "Loaded", "StillReadingError", "TraceView"]
