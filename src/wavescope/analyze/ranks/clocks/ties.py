"""The exchanges that tie clocks of ranks together."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import MISSING, MatchedGroup
from wavescope.arrays.intervals import Times

LEAST_CONFIDENCE = 0.5
"""Exchanges that were matched with less confidence say nothing of clocks."""
_CERTIFYING_CONFIDENCE = 0.6
"""Below that, where only times tell which ranks are together, some of the exchanges may be matched
wrongly: a fit leaves them out as outliers, but causality has no outliers."""
_UNEVEN = frozenset({"all-to-all"})
"""With parts of size 0 a member may end before one that sends it nothing has begun."""


@dataclass(frozen=True, eq=False)
class Tie:
    """The exchanges of one group that say something of its members' clocks."""

    group: int
    """Its place in the job."""
    members: tuple[int, ...]
    """Places of ranks."""
    rows: npt.NDArray[np.int32]
    """[member, exchange], only exchanges that tie."""
    exchange: npt.NDArray[np.intp]
    """Their places in the group."""
    is_certain: npt.NDArray[np.bool_]
    """For each exchange whether nobody can end it before all have begun."""
    sender: int = MISSING
    """For sends and receives: the member that sends."""

    @property
    def is_pair(self) -> bool:
        return self.sender != MISSING


def ties_of(groups: Sequence[MatchedGroup]) -> list[Tie]:
    """Groups of several ranks with exchanges that end together."""
    ties = []
    for place, group in enumerate(groups):
        if len(group.members) < 2 or group.confidence < LEAST_CONFIDENCE:
            continue
        if group.sender != MISSING:
            chosen = np.ones(group.exchange_count, np.bool_)
        else:
            chosen = group.is_synchronizing
        chosen = chosen & (np.count_nonzero(group.rows != MISSING, axis=0) > 1)
        if chosen.any():
            ties.append(_tie(place, group, np.flatnonzero(chosen)))
    return ties


def _tie(place: int, group: MatchedGroup, exchange: npt.NDArray[np.intp]) -> Tie:
    certain = np.array(
        [use.operation not in _UNEVEN or use.bus_factor > 0 for use in group.uses], np.bool_
    )
    if group.confidence < _CERTIFYING_CONFIDENCE:
        certain[:] = False
    is_whole = len(exchange) == group.exchange_count
    return Tie(
        place,
        tuple(group.members.tolist()),
        group.rows if is_whole else group.rows[:, exchange],
        exchange,
        certain[group.use[exchange]],
        group.sender,
    )


def tied_times(
    rank: RankDigest, rows: npt.NDArray[np.int32]
) -> tuple[Times, Times, npt.NDArray[np.bool_]]:
    """Starts and ends of a rank's rows in its own clock, and which of them are there."""
    is_there = rows != MISSING
    place = rows if is_there.all() else np.maximum(rows, 0)
    return rank.collectives.start_ns[place], rank.collectives.end_ns[place], is_there


def components(rank_count: int, pairs: Iterable[tuple[int, int]]) -> list[list[int]]:
    """Ranks that are tied together directly or by others, each with its lowest first."""
    parent = list(range(rank_count))

    def root(place: int) -> int:
        while parent[place] != place:
            parent[place] = parent[parent[place]]
            place = parent[place]
        return place

    for left, right in pairs:
        low, high = sorted((root(left), root(right)))
        parent[high] = low
    found: dict[int, list[int]] = {}
    for place in range(rank_count):
        found.setdefault(root(place), []).append(place)
    return list(found.values())
