"""Ranks whose clock fits no line, and why."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.clocks.pairs import PairLine
from wavescope.analyze.ranks.clocks.ties import Tie, tied_times
from wavescope.analyze.ranks.digest import RankDigest
from wavescope.units import duration_text

_CLEARLY = 20.0
"""A clock jumped if one change between two exchanges is so many times the usual one."""
_LEAST_JUMP_NS = 1_000


def blamed(pairs: Sequence[PairLine], is_empty: npt.NDArray[np.bool_]) -> dict[int, int]:
    """The fewest ranks that are in all contradicted pairs, each with one whose clock it denies.

    A rank that contradicts most of its pairs is to blame, not one that contradicts a few.
    """
    bad = {(pair.hub, pair.member) for pair, empty in zip(pairs, is_empty, strict=True) if empty}
    every = [(pair.hub, pair.member) for pair in pairs]
    found: dict[int, int] = {}
    while bad:
        in_bad = _counts(bad)
        in_all = _counts([pair for pair in every if not found.keys() & set(pair)])
        worst = max(in_bad, key=lambda place: (in_bad[place] / in_all[place], in_bad[place], place))
        against = next(pair for pair in sorted(bad) if worst in pair)
        found[worst] = against[0] if against[1] == worst else against[1]
        bad = {pair for pair in bad if worst not in pair}
    return found


def _counts(pairs: Sequence[tuple[int, int]] | set[tuple[int, int]]) -> dict[int, int]:
    counts: dict[int, int] = {}
    for pair in pairs:
        for place in pair:
            counts[place] = counts.get(place, 0) + 1
    return counts


def contradiction(
    digests: Sequence[RankDigest], ties: Sequence[Tie], place: int, other: int, number: int
) -> str:
    """Why no clock fits: where it jumped, if it did, else that exchanges are matched wrongly.

    `number` is the other's rank.
    """
    for tie in ties:
        if place in tie.members and other in tie.members:
            jump = _jump(digests, tie, place, other)
            if jump is not None:
                size, left, right = jump
                return (
                    f"its clock jumped by {duration_text(abs(size))} against that of rank {number} "
                    f"between exchanges {left} and {right} of group {tie.group}"
                )
    return (
        f"no clock that runs evenly fits its exchanges with rank {number}: somebody would end "
        "before another has begun; its exchanges may be matched wrongly"
    )


def _jump(
    digests: Sequence[RankDigest], tie: Tie, place: int, other: int
) -> tuple[int, int, int] | None:
    """By how much the difference of two clocks changes at once, and between which exchanges."""
    rows = [tie.rows[tie.members.index(rank)] for rank in (place, other)]
    _, own_end, own_there = tied_times(digests[place], rows[0])
    _, other_end, other_there = tied_times(digests[other], rows[1])
    both = np.flatnonzero(own_there & other_there)
    if len(both) < 4:
        return None
    changes = np.diff(own_end[both] - other_end[both])
    usual = max(float(np.median(np.abs(changes))), _LEAST_JUMP_NS)
    most = int(np.argmax(np.abs(changes)))
    if abs(int(changes[most])) < _CLEARLY * usual:
        return None
    return int(changes[most]), int(tie.exchange[both[most]]), int(tie.exchange[both[most + 1]])
