"""Ranks whose traces say that they have the same clock."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.ranks.clocks.pairs import PairLine
from wavescope.analyze.ranks.digest import RankDigest

_SPAN_NS = 1e17
"""Three years: longer than any recording is away from another."""


def shared_pairs(
    digests: Sequence[RankDigest], components: Sequence[Sequence[int]], without: frozenset[int]
) -> list[PairLine]:
    """A pair for each component that no exchange ties to another with the same clock.

    Ranks that exchanges tie keep what these say: conversions of a clock may differ by process.
    """
    home = {place: number for number, component in enumerate(components) for place in component}
    first: dict[str, int] = {}
    pairs = []
    merged = list(range(len(components)))
    for place, rank in enumerate(digests):
        if not rank.clock or place in without:
            continue
        hub = first.setdefault(rank.clock, place)
        left, right = merged[home[hub]], merged[home[place]]
        if left != right:
            merged = [left if number == right else number for number in merged]
            pairs.append(_pair(hub, place, rank))
    return pairs


def _pair(hub: int, member: int, rank: RankDigest) -> PairLine:
    """Both clocks show the same at all times."""
    at, none = np.array([-_SPAN_NS, _SPAN_NS]), np.zeros(2)
    return PairLine(hub, member, rank.first_ns, 0, 0.0, at, none, at, none, 0)
