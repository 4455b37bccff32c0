"""Why GPUs idle: every gap divided over what the host did during it, and what is behind each part.

docs/findings.md explains the parts.
"""

from wavescope.analyze.idle.gap_parts import GapParts, IdleSplit, gap_parts, idle_splits
from wavescope.analyze.idle.idle_story import IdlePart, IdleStory, idle_story
from wavescope.analyze.idle.late_starts import LateStart

__all__ = [
    "GapParts",
    "IdlePart",
    "IdleSplit",
    "IdleStory",
    "LateStart",
    "gap_parts",
    "idle_splits",
    "idle_story",
]
