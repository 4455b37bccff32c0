"""Collectives that are the same exchange, seen by several ranks."""

from __future__ import annotations

import enum
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import CollectiveUse

Places = npt.NDArray[np.int32]
"""Ranks by their place in `Job.ranks`."""

MISSING = -1


class MatchedBy(str, enum.Enum):
    """What tells that two ranks' collectives are one, the surest first."""

    SEQUENCE = "sequence numbers"
    ARGUMENTS = "order, operation and arguments"
    ORDER = "order and operation only"


class Mismatch(NamedTuple):
    """Something that does not fit between the ranks of a group, for a row of a table."""

    kind: str
    """`missing` (a rank lacks exchanges that others have), `operation`, `size`, `absent` (a member
    that no trace was given of), `order` (its order is not certain)."""
    group: int
    """A place in `Job.groups`; `MISSING` for what belongs to none."""
    places: tuple[int, ...]
    """The ranks that differ from the rest, by place."""
    exchange_count: int
    """How many exchanges it is about."""
    sentence: str


@dataclass(frozen=True)
class MatchedGroup:
    """The exchanges of one group of ranks, in order: a matrix of members and exchanges."""

    name: str
    description: str
    members: Places
    """Ranks that took part and were given, by place, ascending."""
    size: int
    """How many ranks the group has, as recorded; at least the members."""
    uses: tuple[CollectiveUse, ...]
    """What its exchanges are, each once; `CollectiveUse.group` is this group's place."""
    use: npt.NDArray[np.int32]
    """For each exchange a row of `uses`: that of most of its members."""
    rows: npt.NDArray[np.int32]
    """[member, exchange]: the row in that rank's `collectives`, `MISSING` where it has none."""
    matched_by: MatchedBy
    confidence: float
    """0 to 1: how sure the matching is; 1 for sequence numbers that agree in kind and size."""
    sender: int = MISSING
    """For sends and receives of two ranks: which of `members` sends (0 or 1), where known."""

    @property
    def exchange_count(self) -> int:
        return int(self.rows.shape[1])

    @property
    def is_synchronizing(self) -> npt.NDArray[np.bool_]:
        """For each exchange whether nobody can end before everybody has begun."""
        known = np.array([use.operation in SYNCHRONIZING for use in self.uses], np.bool_)
        return known[self.use]


SYNCHRONIZING = frozenset({"all-reduce", "all-gather", "reduce-scatter", "all-to-all", "barrier"})
"""A broadcast's root may end before others begin, a reduce's members, a send's sender."""
