"""Keys of rows made columns of a matrix of members and exchanges."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.matching.local_groups import LocalGroup, Numbers
from wavescope.arrays.intervals import Times

_SPARSE = 4
"""A table over all possible keys is made if it has at most so many times the rows of a member."""


def columns_of(keys: Sequence[Times]) -> tuple[list[Times], int]:
    """For each member the column of each of its rows, in order of keys, and how many there are.

    Rows whose key is negative get `MISSING`.
    """
    longest = max(keys, key=len)
    if all(len(key) == len(longest) and np.array_equal(key, longest) for key in keys) and (
        bool(np.all(longest[1:] > longest[:-1])) and longest[:1].min(initial=0) >= 0
    ):
        return [np.arange(len(longest))] * len(keys), len(longest)
    shown = [key[key >= 0] for key in keys]
    least = min((int(key.min()) for key in shown if len(key)), default=0)
    most = max((int(key.max()) for key in shown if len(key)), default=-1)
    if most - least < _SPARSE * len(longest) + 1024:
        is_there = np.zeros(most - least + 1, np.bool_)
        for key in shown:
            is_there[key - least] = True
        column = np.cumsum(is_there) - 1
        found = [np.where(key >= 0, column[np.maximum(key - least, 0)], MISSING) for key in keys]
        return found, int(np.count_nonzero(is_there))
    every = np.unique(np.concatenate(shown))
    return [
        np.where(key >= 0, np.searchsorted(every, np.maximum(key, every[0])), MISSING)
        for key in keys
    ], len(every)


def matrix_of(
    members: Sequence[LocalGroup], columns: Sequence[Times], count: int, name: str
) -> Numbers:
    """[member, exchange]: a column of the local groups (`rows`, `tokens`), `MISSING` if absent."""
    matrix = np.full((len(members), count), MISSING, np.int32)
    for place, (member, column) in enumerate(zip(members, columns, strict=True)):
        values: npt.NDArray[np.int32] = getattr(member, name)
        there = column >= 0
        matrix[place, column[there]] = values[there]
    return matrix
