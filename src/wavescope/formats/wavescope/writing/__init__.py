"""Writes wavescope's own trace file, from one source or several."""

from wavescope.formats.wavescope.writing.merge_plan import RankFrom
from wavescope.formats.wavescope.writing.writer import write_trace

__all__ = ["RankFrom", "write_trace"]
