"""Traces that are looked at while they are read, and what is kept of them for the next time.

More than six names go out: a view is opened to be looked at while it is read, or loaded whole,
with options for what is kept.
"""

from wavescope.view.opening.call_categories import CallCategories
from wavescope.view.opening.opened_view import loaded_view, open_view
from wavescope.view.opening.opening_options import CacheOptions, OpeningOptions
from wavescope.view.opening.trace_view import Loaded, StillReadingError, TraceView

__all__ = [
    "CacheOptions",
    "CallCategories",
    "Loaded",
    "OpeningOptions",
    "StillReadingError",
    "TraceView",
    "loaded_view",
    "open_view",
]
