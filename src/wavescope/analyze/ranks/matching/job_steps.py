"""Steps of all ranks matched: by labels, else by the exchanges in them, else by order."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import RankDigest
from wavescope.analyze.ranks.job import MISSING, MatchedGroup

Steps = npt.NDArray[np.int32]

_MOSTLY = 0.5
"""Two ranks' steps are matched if more than this share of exchanges agrees in the difference."""


def matched_steps(digests: Sequence[RankDigest], groups: Sequence[MatchedGroup]) -> Steps:
    """[place, step]: the row in each rank's steps, `MISSING` where it has none; no step at all
    where nothing tells which belong together."""
    having = [place for place, rank in enumerate(digests) if len(rank.steps)]
    if not having:
        return np.empty((len(digests), 0), np.int32)
    positions = _by_labels(digests, having)
    if positions is None:
        positions = _by_exchanges(digests, having, groups) or _by_order(digests, having)
    if positions is None:
        return np.empty((len(digests), 0), np.int32)
    return _matrix(len(digests), positions)


def _matrix(rank_count: int, positions: dict[int, npt.NDArray[np.int64]]) -> Steps:
    every = np.unique(np.concatenate(list(positions.values())))
    steps = np.full((rank_count, len(every)), MISSING, np.int32)
    for place, position in positions.items():
        # Of several steps with one label the first counts.
        column, row = np.unique(np.searchsorted(every, position), return_index=True)
        steps[place, column] = row
    return steps


def _by_labels(
    digests: Sequence[RankDigest], having: Sequence[int]
) -> dict[int, npt.NDArray[np.int64]] | None:
    labels = {place: digests[place].steps.label for place in having}
    if all(bool(np.all(label >= 0)) for label in labels.values()):
        return labels
    return None


def _by_exchanges(
    digests: Sequence[RankDigest], having: Sequence[int], groups: Sequence[MatchedGroup]
) -> dict[int, npt.NDArray[np.int64]] | None:
    """Steps shifted so that exchanges of two ranks lie in the same step; None if some are not
    tied to the rest."""
    shifts = {having[0]: 0}
    ties = _ties(digests, having, groups)
    waiting = [having[0]]
    while waiting:
        place = waiting.pop()
        for other, shift in ties[place]:
            if other not in shifts:
                shifts[other] = shifts[place] + shift
                waiting.append(other)
    if len(shifts) < len(having):
        return None
    return {place: np.arange(len(digests[place].steps)) + shifts[place] for place in having}


def _ties(
    digests: Sequence[RankDigest], having: Sequence[int], groups: Sequence[MatchedGroup]
) -> dict[int, list[tuple[int, int]]]:
    """For each rank the others whose steps are known relative to its own, and by how many."""
    ties: dict[int, list[tuple[int, int]]] = defaultdict(list)
    with_steps = set(having)
    for group in groups:
        members = [
            (member, place)
            for member, place in enumerate(group.members.tolist())
            if place in with_steps
        ]
        if len(members) < 2:
            continue
        leader, leader_place = members[0]
        lead = _step_of(digests[leader_place], group.rows[leader])
        for member, place in members[1:]:
            shift = _shift(lead, _step_of(digests[place], group.rows[member]))
            if shift is not None:
                ties[leader_place].append((place, shift))
                ties[place].append((leader_place, -shift))
    return ties


def _step_of(rank: RankDigest, rows: npt.NDArray[np.int32]) -> npt.NDArray[np.int64]:
    step = rank.collectives.step.astype(np.int64)
    return np.where(rows != MISSING, step[np.maximum(rows, 0)], MISSING)


def _shift(left: npt.NDArray[np.int64], right: npt.NDArray[np.int64]) -> int | None:
    both = (left >= 0) & (right >= 0)
    if not both.any():
        return None
    differences, counts = np.unique(left[both] - right[both], return_counts=True)
    most = int(np.argmax(counts))
    return int(differences[most]) if counts[most] > _MOSTLY * both.sum() else None


def _by_order(
    digests: Sequence[RankDigest], having: Sequence[int]
) -> dict[int, npt.NDArray[np.int64]] | None:
    counts = {len(digests[place].steps) for place in having}
    if len(counts) > 1:
        return None
    return {place: np.arange(len(digests[place].steps)) for place in having}
