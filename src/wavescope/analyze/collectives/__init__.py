"""Collectives: what they moved, how fast, and how much of their time no compute hid."""

from wavescope.analyze.collectives.collective_table import collectives_result
from wavescope.analyze.collectives.recorded import (
    RecordedCollectives,
    RecordedGroup,
    RecordedKind,
    listed_ranks,
    recorded_collectives,
)

__all__ = [
    "RecordedCollectives",
    "RecordedGroup",
    "RecordedKind",
    "collectives_result",
    "listed_ranks",
    "recorded_collectives",
]
