"""Ranks whose traces say that they have the same clock."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from wavescope.analyze.ranks.clocks.pairs import PairLine
from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import ClockState, RankClock

CONVERSION_NS = 20_000
"""Processes that convert GPU times to one clock of the host differ by less."""
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


def with_shared(digests: Sequence[RankDigest], clocks: Sequence[RankClock]) -> list[RankClock]:
    """Ranks with a named clock take it over from one of them that is aligned, or begin with it.

    Those that exchanges align about as well keep that: it is finer than conversions of a clock.
    """
    named: dict[str, list[int]] = {}
    for place, rank in enumerate(digests):
        if rank.clock:
            named.setdefault(rank.clock, []).append(place)
    told = list(clocks)
    for places in named.values():
        if len(places) > 1:
            _share(digests, told, places)
    return told


def _share(digests: Sequence[RankDigest], clocks: list[RankClock], places: Sequence[int]) -> None:
    # The reference, where it has this clock, since its time is the common one.
    first = min(places, key=lambda place: (_order(clocks[place]), place))
    anchor = clocks[first]
    if not anchor.is_comparable:
        anchor = RankClock(
            ClockState.REFERENCE,
            digests[first].first_ns,
            low_ns=0,
            high_ns=0,
            component=anchor.component,
        )
        clocks[first] = anchor
    for place in places:
        if place != first and not _agree(digests[place], clocks[place], anchor):
            clocks[place] = replace(anchor, state=ClockState.SHARED, exchange_count=0)


def _order(clock: RankClock) -> int:
    """References first, then others that can be compared, then the rest."""
    return 0 if clock.state is ClockState.REFERENCE else 1 if clock.is_comparable else 2


def _agree(rank: RankDigest, clock: RankClock, anchor: RankClock) -> bool:
    """Whether a rank that is aligned shows the same time as the clock that it shares."""
    if not clock.is_comparable or clock.component != anchor.component:
        return False
    ends = np.array([rank.first_ns, rank.last_ns])
    apart = np.abs(clock.to_common(ends) - anchor.to_common(ends))
    return bool(apart.max() <= CONVERSION_NS)
