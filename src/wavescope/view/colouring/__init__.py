"""In which colours ranges are drawn: by category, kernel, phase, step, process, difference."""

from wavescope.view.colouring.colouring import ViewColouring

__all__ = ["ViewColouring"]
