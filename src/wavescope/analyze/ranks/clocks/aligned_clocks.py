"""A clock for each rank."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import ClockState, MatchedGroup, RankClock


def aligned_clocks(
    digests: Sequence[RankDigest], numbers: Sequence[int], groups: Sequence[MatchedGroup]
) -> tuple[RankClock, ...]:
    """A clock for each place."""
    return tuple(RankClock(ClockState.UNKNOWN) for _ in digests)
