"""Exchanges by the numbers that the library gave them."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.matching.local_groups import LocalGroup
from wavescope.arrays.intervals import Times

_RESTART = 1 << 40
"""What a count that began again is raised by: no group has as many exchanges."""
_MOST_RESTARTS = 1 << 12
_MOST_REPEATS = 1 << 10


def has_sequence(members: Sequence[LocalGroup]) -> bool:
    """Whether every exchange of every member has a number."""
    return all(bool(np.all(member.sequence >= 0)) for member in members)


def sequence_keys(members: Sequence[LocalGroup]) -> list[Times]:
    """For each member a key for each row: equal keys are one exchange, in order of time; `MISSING`
    for what cannot be told apart."""
    counts = [member.sequence for member in members]
    if all(bool(np.all(count[1:] > count[:-1])) for count in counts):
        return counts
    return [_keys(count) for count in counts]


def _keys(sequence: Times) -> Times:
    """Keys where numbers come again."""
    # A process group that is made again counts from the start; a smaller step back is only order.
    highest = np.maximum.accumulate(sequence)[:-1]
    is_restart = (np.diff(sequence) < 0) & (sequence[1:] < highest // 2)
    restarts = np.minimum(np.concatenate([[0], np.cumsum(is_restart)]), _MOST_RESTARTS - 1)
    restarted = np.minimum(sequence, _RESTART - 1) + restarts * _RESTART
    # Several kernels under one number (a coalesced call) are told apart by their order.
    order = np.argsort(restarted, kind="stable")
    ordered = restarted[order]
    place = np.arange(len(ordered))
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    nth = np.empty(len(ordered), np.int64)
    nth[order] = place - np.maximum.accumulate(np.where(is_first, place, 0))
    keys: Times = np.where(nth < _MOST_REPEATS, restarted * _MOST_REPEATS + nth, MISSING)
    return keys
