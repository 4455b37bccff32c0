"""Parts of a trace read from its file when they are asked for: rows by number, id or time."""

from wavescope.view.parts.stored_table import Moments, Numbers
from wavescope.view.parts.trace_parts import TraceParts, parts_of, prepare_parts
from wavescope.view.parts.window import window_part

__all__ = ["Moments", "Numbers", "TraceParts", "parts_of", "prepare_parts", "window_part"]
