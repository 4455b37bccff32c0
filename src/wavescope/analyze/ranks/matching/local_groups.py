"""The collectives of each rank by group, as the rank itself knows its groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import UNKNOWN, CollectiveUse, Group, RankDigest
from wavescope.arrays.intervals import Times

Numbers = npt.NDArray[np.int32]

NO_GROUP = Group("")
"""Of collectives of which only kernels were recorded."""

SEND_RECEIVE = "send/recv"
_FEW_GROUPS = 32
_FEW_SHARE = 8
"""Rows without a group are left out if there are so many times as many with one."""
_EQUAL_SIZES = frozenset({"all-reduce", "all-gather", "reduce-scatter", "broadcast", SEND_RECEIVE})
"""Operations whose size is the same on all ranks; that of an uneven all-to-all, or of the root of
a gather, is not."""


@dataclass(frozen=True, eq=False)
class NumberedRank:
    """A rank whose uses have numbers that are equal on all ranks."""

    place: int
    digest: RankDigest
    token_of_use: Numbers
    exact_of_use: Numbers

    @cached_property
    def label(self) -> Times:
        """For each collective the number of its step's marker, -1 without."""
        step, steps = self.digest.collectives.step, self.digest.steps
        if not len(steps):
            return np.full(len(step), UNKNOWN, np.int64)
        known = (step >= 0) & (step < len(steps))
        labels: Times = np.where(known, steps.label[np.where(known, step, 0)], UNKNOWN)
        return labels


@dataclass(frozen=True, eq=False)
class LocalGroup:
    """What one rank did in one of its groups, in order."""

    rank: NumberedRank
    group: Group
    rows: Numbers
    """Rows of the rank's `collectives`."""

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def place(self) -> int:
        return self.rank.place

    @cached_property
    def tokens(self) -> Numbers:
        """What must be equal on all ranks, as `Uses.tokens` numbers it."""
        return self.rank.token_of_use[self.rank.digest.collectives.use[self.rows]]

    @cached_property
    def exact(self) -> Numbers:
        """The use of each row, as `Uses.exact` numbers it."""
        return self.rank.exact_of_use[self.rank.digest.collectives.use[self.rows]]

    @cached_property
    def end_ns(self) -> Times:
        return self.rank.digest.collectives.end_ns[self.rows]

    @cached_property
    def sequence(self) -> Times:
        return self.rank.digest.collectives.sequence[self.rows]

    @cached_property
    def label(self) -> Times:
        """The number of the step's marker, -1 without."""
        return self.rank.label[self.rows]

    def part(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> LocalGroup:
        """Only some of its rows."""
        return LocalGroup(self.rank, self.group, self.rows[chosen])


@dataclass
class Uses:
    """Numbers for the uses of all ranks: equal uses of different ranks get equal numbers."""

    exact: dict[CollectiveUse, int] = field(default_factory=dict)
    """Uses with everything but the group."""
    tokens: dict[tuple[str, str, int, str], int] = field(default_factory=dict)
    """What members of an exchange must agree in."""

    def exact_number(self, use: CollectiveUse) -> int:
        return self.exact.setdefault(use._replace(group=UNKNOWN), len(self.exact))

    def token_number(self, use: CollectiveUse) -> int:
        return self.tokens.setdefault(token_of(use), len(self.tokens))


def token_of(use: CollectiveUse) -> tuple[str, str, int, str]:
    """Operation, dtype, size and name: what members of one exchange agree in."""
    if use.operation not in _EQUAL_SIZES:
        return (use.operation, "", UNKNOWN, "" if use.operation else use.name)
    if use.size_bytes < 0:
        return (use.operation, use.dtype, UNKNOWN, use.name)
    return (use.operation, use.dtype, use.size_bytes, "")


def local_groups(
    digests: Sequence[RankDigest], uses: Uses
) -> tuple[list[LocalGroup], dict[int, int]]:
    """Every group of every rank, without sends and receives; rows without a group are one more.

    Where a rank has groups, a few rows without are kernels whose launch was not recorded: they are
    left out, and counted by place.
    """
    kept, left_out = [], {}
    for place, rank in enumerate(digests):
        parts = _groups_of(place, rank, uses)
        known = sum(len(part) for part in parts if part.group is not NO_GROUP)
        for part in parts:
            if part.group is NO_GROUP and _FEW_SHARE * len(part) < known:
                left_out[place] = len(part)
            else:
                kept.append(part)
    return kept, left_out


def _groups_of(place: int, rank: RankDigest, uses: Uses) -> list[LocalGroup]:
    rows = rank.collectives
    if not len(rows):
        return []
    numbered = numbered_rank(place, rank, uses)
    group_count = len(rank.groups)
    # One number more for rows without a group, and one for those that are matched by their peers.
    numbers = np.array(
        [
            group_count + 1
            if use.operation == SEND_RECEIVE
            else (use.group if 0 <= use.group < group_count else group_count)
            for use in rank.uses
        ],
        np.int32,
    )[rows.use]
    return [
        LocalGroup(numbered, (*rank.groups, NO_GROUP)[group], chosen)
        for group, chosen in _rows_by_number(numbers, group_count + 1)
        if len(chosen)
    ]


def _rows_by_number(numbers: Numbers, count: int) -> Iterator[tuple[int, Numbers]]:
    """For each number below `count` the rows that have it."""
    if count <= _FEW_GROUPS:
        for number in range(count):
            yield number, np.flatnonzero(numbers == number).astype(np.int32)
        return
    order = np.argsort(numbers, kind="stable").astype(np.int32)
    stop = np.cumsum(np.bincount(numbers, minlength=count))
    for number, last in enumerate(stop[:count].tolist()):
        yield number, order[stop[number - 1] if number else 0 : last]


def numbered_rank(place: int, rank: RankDigest, uses: Uses) -> NumberedRank:
    """A rank with numbers for its uses."""
    return NumberedRank(
        place,
        rank,
        np.array([uses.token_number(use) for use in rank.uses], np.int32),
        np.array([uses.exact_number(use) for use in rank.uses], np.int32),
    )
