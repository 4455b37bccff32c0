"""In which colours ranges are drawn: by category, kernel, phase, step, process, difference."""

from wavescope.view.colouring.all_colourings import COLOURINGS, colouring_of
from wavescope.view.colouring.colouring import MOST_CLASSES, ViewColouring

__all__ = ["COLOURINGS", "MOST_CLASSES", "ViewColouring", "colouring_of"]
