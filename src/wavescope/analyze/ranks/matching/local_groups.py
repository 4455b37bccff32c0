"""The collectives of each rank by group, as the rank itself knows its groups."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import UNKNOWN, CollectiveUse, Group, RankDigest
from wavescope.arrays.intervals import Times

Numbers = npt.NDArray[np.int32]

NO_GROUP = Group("")
"""Of collectives of which only kernels were recorded."""

SEND_RECEIVE = "send/recv"
_EQUAL_SIZES = frozenset({"all-reduce", "all-gather", "reduce-scatter", "broadcast", SEND_RECEIVE})
"""Operations whose size is the same on all ranks; that of an uneven all-to-all, or of the root of
a gather, is not."""


@dataclass(frozen=True, eq=False)
class LocalGroup:
    """What one rank did in one of its groups, in order."""

    place: int
    group: Group
    rows: Numbers
    """Rows of the rank's `collectives`."""
    tokens: Numbers
    """What must be equal on all ranks, as `Uses.tokens` numbers it."""
    start_ns: Times
    end_ns: Times
    sequence: Times
    label: Times
    """The number of the step's marker, -1 without."""
    exact: Numbers
    """The use of each row, as `Uses.exact` numbers it."""

    def __len__(self) -> int:
        return len(self.rows)

    def part(self, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.intp]) -> LocalGroup:
        """Only some of its rows."""
        return LocalGroup(
            self.place,
            self.group,
            self.rows[chosen],
            self.tokens[chosen],
            self.start_ns[chosen],
            self.end_ns[chosen],
            self.sequence[chosen],
            self.label[chosen],
            self.exact[chosen],
        )


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


def local_groups(digests: Sequence[RankDigest], uses: Uses) -> list[LocalGroup]:
    """Every group of every rank, without sends and receives; rows without a group are one more."""
    return [part for place, rank in enumerate(digests) for part in _groups_of(place, rank, uses)]


def _groups_of(place: int, rank: RankDigest, uses: Uses) -> list[LocalGroup]:
    rows = rank.collectives
    if not len(rows):
        return []
    whole = whole_rank(place, rank, uses)
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
    order = np.argsort(numbers, kind="stable")
    first, stop = (
        np.searchsorted(numbers[order], np.arange(group_count + 1), side)
        for side in ("left", "right")
    )
    return [
        _named(whole, (*rank.groups, NO_GROUP)[group], order[first[group] : stop[group]])
        for group in range(group_count + 1)
        if stop[group] > first[group]
    ]


def _named(whole: LocalGroup, group: Group, chosen: npt.NDArray[np.intp]) -> LocalGroup:
    part = whole if len(chosen) == len(whole) else whole.part(chosen)
    return LocalGroup(
        part.place,
        group,
        part.rows,
        part.tokens,
        part.start_ns,
        part.end_ns,
        part.sequence,
        part.label,
        part.exact,
    )


def whole_rank(place: int, rank: RankDigest, uses: Uses) -> LocalGroup:
    """All collectives of a rank as if they were of one group."""
    rows = rank.collectives
    tokens = np.array([uses.token_number(use) for use in rank.uses], np.int32)
    exact = np.array([uses.exact_number(use) for use in rank.uses], np.int32)
    return LocalGroup(
        place,
        NO_GROUP,
        np.arange(len(rows), dtype=np.int32),
        tokens[rows.use],
        rows.start_ns,
        rows.end_ns,
        rows.sequence,
        _labels(rank),
        exact[rows.use],
    )


def _labels(rank: RankDigest) -> Times:
    step = rank.collectives.step
    if not len(rank.steps):
        return np.full(len(step), UNKNOWN, np.int64)
    known = (step >= 0) & (step < len(rank.steps))
    labels: Times = np.where(known, rank.steps.label[np.where(known, step, 0)], UNKNOWN)
    return labels
