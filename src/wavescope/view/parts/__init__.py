"""Parts of a trace read from its file when they are asked for: rows by number, id or time."""

from wavescope.view.parts.trace_parts import TraceParts
from wavescope.view.parts.window import window_part

__all__ = ["TraceParts", "window_part"]
