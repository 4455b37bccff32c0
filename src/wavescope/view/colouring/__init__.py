"""In which colours ranges are drawn: by category, kernel, phase, step, process, difference."""

from wavescope.view.colouring.all_colourings import COLOURINGS, colouring_of, colourings_for
from wavescope.view.colouring.colouring import ViewColouring
from wavescope.view.colouring.difference import changes_of
from wavescope.view.colouring.phases_and_steps import trace_steps

__all__ = [
    "COLOURINGS",
    "ViewColouring",
    "changes_of",
    "colouring_of",
    "colourings_for",
    "trace_steps",
]
