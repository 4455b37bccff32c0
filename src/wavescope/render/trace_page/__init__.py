"""The page of a trace, and of several compared with the first."""

from wavescope.render.trace_page.added_results import with_results
from wavescope.render.trace_page.comparison import ComparedTrace, comparison_page
from wavescope.render.trace_page.report import report_page

__all__ = ["ComparedTrace", "comparison_page", "report_page", "with_results"]
