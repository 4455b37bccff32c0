"""What each piece of the critical path typically takes.

Own work is compared with the same stretch on other ranks of the role, and where there is none with
the same stretch of the rank's other steps; a transfer with others of the same kind and size.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.stragglers.arrivals import Arrivals
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import Reals, medians
from wavescope.analyze.ranks.stragglers.path import Piece
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes
from wavescope.analyze.ranks.stragglers.report import PathKind
from wavescope.analyze.ranks.stragglers.roles import Roles
from wavescope.arrays.intervals import Times

Numbers = npt.NDArray[np.int64]


class _Stretches:
    """Local pieces as columns."""

    def __init__(self, pieces: Sequence[Piece]) -> None:
        self.place = np.array([piece.place for piece in pieces], np.int64)
        self.actual_ns = np.array([piece.end_ns - piece.start_ns for piece in pieces], np.int64)
        before_ns = np.array([piece.before_ns for piece in pieces], np.int64)
        self.share = self.actual_ns / np.maximum(self.actual_ns + before_ns, 1)
        """What of the rank's own time since the begin of the stretch is the piece."""
        self.begin = np.array([piece.begin for piece in pieces], np.int64).reshape(-1, 3).T
        self.finish = np.array([piece.finish for piece in pieces], np.int64).reshape(-1, 3).T


def references(
    pieces: Sequence[Piece],
    ranks: tuple[RankTimes, ...],
    arrivals: tuple[Arrivals, ...],
    roles: Roles,
    role_factors: Reals,
) -> Times:
    """The typical duration of each piece in whole ns; its own where nothing compares.

    `role_factors` are how much slower than others all ranks of a role are.
    """
    found = np.array([piece.end_ns - piece.start_ns for piece in pieces], np.int64)
    role_of = roles.of_places()
    by_role: dict[int, list[int]] = {}
    for number, piece in enumerate(pieces):
        if piece.kind is PathKind.LOCAL:
            by_role.setdefault(role_of[piece.place], []).append(number)
        elif piece.group != MISSING and arrivals[piece.group].member_count[piece.exchange] > 1:
            found[number] = arrivals[piece.group].typical_ns[piece.exchange] or found[number]
    for role, numbers in by_role.items():
        stretches = _Stretches([pieces[number] for number in numbers])
        typical = _typical_of_peers(stretches, roles.members[role], ranks, roles)
        known: dict[tuple[int, ...], float] = {}
        for number in np.flatnonzero(np.isnan(typical)).tolist():
            piece = pieces[numbers[number]]
            key = _stretch_key(piece, roles)
            if key not in known:
                known[key] = _typical_of_steps(piece, ranks, roles)
            typical[number] = known[key]
        typical *= stretches.share / role_factors[role]
        typical = np.where(np.isnan(typical), stretches.actual_ns, typical)
        found[numbers] = np.rint(np.maximum(typical, 0)).astype(np.int64)
    return found


def sampled(places: Sequence[int], most: int) -> list[int]:
    """At most so many of them, evenly spread."""
    if len(places) <= most:
        return list(places)
    return [places[number * len(places) // most] for number in range(most)]


def _typical_of_peers(
    stretches: _Stretches, places: Sequence[int], ranks: tuple[RankTimes, ...], roles: Roles
) -> Reals:
    peers = sampled(places, LIMITS.peer_count)
    durations = np.full((len(peers), len(stretches.place)), np.nan)
    steps = np.stack((stretches.begin[1], stretches.finish[1]))
    wanted = roles.signature[stretches.place, steps]
    for number, peer in enumerate(peers):
        is_same = (roles.signature[peer, steps] == wanted).all(axis=0)
        is_same &= (steps != MISSING).all(axis=0) & (stretches.place != peer)
        is_same &= roles.is_usual[peer, steps].all(axis=0)
        began, has_begin = ranks[peer].own_time(*stretches.begin)
        ended, has_end = ranks[peer].own_time(*stretches.finish)
        is_same &= has_begin & has_end
        durations[number, is_same] = np.maximum(ended - began, 0)[is_same]
    return medians(durations)


def _stretch_key(piece: Piece, roles: Roles) -> tuple[int, ...]:
    """Equal for pieces that are the same stretch of steps that look the same."""
    begin, finish = piece.begin, piece.finish
    place, steps = piece.place, finish.step - begin.step
    signature = int(roles.signature[place, finish.step])
    return place, steps, signature, begin.kind, begin.offset, finish.kind, finish.offset


def _typical_of_steps(piece: Piece, ranks: tuple[RankTimes, ...], roles: Roles) -> float:
    """The median of the same stretch in the rank's steps that look the same."""
    begin, finish = piece.begin, piece.finish
    if MISSING in (begin.step, finish.step):
        return float("nan")
    rank, signature = ranks[piece.place], roles.signature[piece.place]
    steps = np.arange(len(signature))
    before = steps - (finish.step - begin.step)
    is_same = rank.has_step & (before >= 0) & (before < len(steps))
    is_same &= signature == signature[finish.step]
    steps, before = steps[is_same], before[is_same]
    began, has_begin = rank.own_time(_all(begin.kind, steps), before, _all(begin.offset, steps))
    ended, has_end = rank.own_time(_all(finish.kind, steps), steps, _all(finish.offset, steps))
    is_whole = has_begin & has_end
    durations = np.maximum(ended - began, 0)[is_whole]
    return float(np.median(durations)) if len(durations) > 1 else float("nan")


def _all(value: int, like: Numbers) -> Numbers:
    return np.full(len(like), value, np.int64)
