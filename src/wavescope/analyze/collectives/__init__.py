"""Collectives: what they moved, how fast, and how much of their time no compute hid."""

from wavescope.analyze.collectives.collective_table import collectives_result
from wavescope.analyze.collectives.recorded import (
    RecordedCollective,
    RecordedGroup,
    listed_ranks,
    recorded_collectives,
)

__all__ = [
    "RecordedCollective",
    "RecordedGroup",
    "collectives_result",
    "listed_ranks",
    "recorded_collectives",
]
