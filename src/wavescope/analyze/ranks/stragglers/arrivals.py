"""Who came last to each exchange, and how long the transfer took from then on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, NO_TIME, Job, MatchedGroup
from wavescope.analyze.ranks.stragglers.medians import median, medians_of_others
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes
from wavescope.analyze.ranks.stragglers.roles import Roles
from wavescope.analyze.ranks.stragglers.tied_clocks import Flags
from wavescope.arrays.intervals import Times

UNKNOWN_KIND = -1
_NO_OFFSET = -2
_UNEVEN = "all-to-all"
_OFTEN = 8
"""A size that occurs so often is one of the program's, and no number of tokens of one step."""

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Arrivals:
    """The exchanges of one group, as far as ranks with comparable clocks tell."""

    last_member: Numbers
    """For each exchange the member that came last."""
    last_ns: Times
    """When it came; `NO_TIME` where nobody was there."""
    member_count: Numbers
    """How many members were there."""
    transfer_ns: Times
    """How long it took the last one; -1 where nobody was there."""
    typical_ns: Times
    """The median of transfers of the same kind and size in other groups that lie alike; 0 where
    the kind is not known."""
    kind: Numbers
    """For each exchange a number of its kind and size, common to all groups, or `UNKNOWN_KIND`."""
    is_complete: bool
    """Whether all ranks of the group were given and can be compared."""


def arrivals_of(
    job: Job, ranks: tuple[RankTimes, ...], roles: Roles, tied: Flags
) -> tuple[Arrivals, ...]:
    """One for each group of the job."""
    kinds = _Kinds(job, ranks, roles)
    found = [_arrivals(ranks, group, kinds, tied) for group in job.groups]
    typical = _typical_transfers(found)
    return tuple(
        replace(arrivals, typical_ns=own[np.searchsorted(np.unique(arrivals.kind), arrivals.kind)])
        for arrivals, own in zip(found, typical, strict=True)
    )


def host_count(job: Job, group: MatchedGroup) -> int:
    """On how many hosts the members of a group are."""
    return len({job.ranks[place].identity.host for place in group.members.tolist()})


class _Kinds:
    """Numbers of kinds of exchanges, common to all groups."""

    def __init__(self, job: Job, ranks: tuple[RankTimes, ...], roles: Roles) -> None:
        self._job = job
        self._ranks = ranks
        self._roles = roles
        self._numbers: dict[tuple[object, ...], int] = {}

    def of(self, group: MatchedGroup) -> Numbers:
        """The kind of each exchange: operation, size, and how the group lies on hosts.

        Where sizes are unknown, or different each time, the place in the step stands for them.
        """
        lies = (group.size, len(group.members), host_count(self._job, group))
        counts = np.bincount(group.use, minlength=len(group.uses))
        sized = [
            use.size_bytes >= 0
            and (use.operation != _UNEVEN or count >= _OFTEN or len(group.uses) == 1)
            for use, count in zip(group.uses, counts.tolist(), strict=True)
        ]
        is_sized = np.array(sized or [True], np.bool_)[group.use]
        offsets = np.where(is_sized, MISSING, self._offsets(group))
        pairs = np.stack((group.use.astype(np.int64), offsets))
        values, inverse = np.unique(pairs, axis=1, return_inverse=True)
        numbers = [self._number(group, use, offset, lies) for use, offset in values.T.tolist()]
        return np.array(numbers, np.int64)[inverse.reshape(-1)]

    def _number(self, group: MatchedGroup, use: int, offset: int, lies: tuple[int, ...]) -> int:
        told = group.uses[use]
        size = told.size_bytes if offset == MISSING else MISSING
        dtype = told.dtype if offset == MISSING else ""
        if offset == _NO_OFFSET:
            return UNKNOWN_KIND
        key = (told.operation, size, dtype, offset, *lies)
        return self._numbers.setdefault(key, len(self._numbers))

    def _offsets(self, group: MatchedGroup) -> Numbers:
        """The place of each exchange in its step, as the first member that has it tells."""
        offsets = np.full(group.exchange_count, _NO_OFFSET, np.int64)
        for member in range(len(group.members) - 1, -1, -1):
            place = int(group.members[member])
            there = np.flatnonzero(group.rows[member] != MISSING)
            rows = group.rows[member, there]
            step = self._ranks[place].step[rows]
            # Of a step that was recorded in part, places say nothing.
            is_known = (step >= 0) & self._roles.is_usual[place, step]
            offsets[there[is_known]] = self._ranks[place].offset[rows[is_known]]
        return offsets


def _arrivals(
    ranks: tuple[RankTimes, ...], group: MatchedGroup, kinds: _Kinds, tied: Flags
) -> Arrivals:
    # Member by member: a matrix of all would be the largest thing in memory by far.
    last_ns = np.full(group.exchange_count, NO_TIME, np.int64)
    end_ns = np.zeros(group.exchange_count, np.int64)
    last_member = np.zeros(group.exchange_count, np.int64)
    member_count = np.zeros(group.exchange_count, np.int64)
    tied_count = 0
    for member, place in enumerate(group.members.tolist()):
        if not tied[place]:
            continue
        tied_count += 1
        there, rows = exchanges_of(group, member)
        starts = ranks[place].start_ns[rows]
        is_later = starts > last_ns[there]
        last_ns[there] = np.where(is_later, starts, last_ns[there])
        end_ns[there] = np.where(is_later, ranks[place].end_ns[rows], end_ns[there])
        last_member[there] = np.where(is_later, member, last_member[there])
        member_count[there] += 1
    is_there = member_count > 0
    return Arrivals(
        last_member=last_member,
        last_ns=last_ns,
        member_count=member_count,
        transfer_ns=np.where(is_there, end_ns - np.where(is_there, last_ns, 0), -1),
        typical_ns=np.zeros(group.exchange_count, np.int64),
        kind=kinds.of(group),
        is_complete=tied_count == len(group.members) >= group.size,
    )


def exchanges_of(group: MatchedGroup, member: int) -> tuple[slice | Numbers, slice | Numbers]:
    """The exchanges that a member has, and its rows of them; slices where they are neighbours."""
    rows = group.rows[member]
    there = np.flatnonzero(rows != MISSING)
    return _as_slice(there), _as_slice(rows[there].astype(np.int64))


def _as_slice(numbers: Numbers) -> slice | Numbers:
    """Ascending neighbours as a slice: copies of slices are several times faster."""
    count = len(numbers)
    if count and numbers[-1] - numbers[0] == count - 1 and bool((np.diff(numbers) == 1).all()):
        return slice(int(numbers[0]), int(numbers[-1]) + 1)
    return numbers


def _typical_transfers(found: list[Arrivals]) -> list[Times]:
    """For each group and each of its kinds, ascending, the typical transfer.

    It is the median of the other groups' medians, so that one slow group of two is not half of its
    own measure; of a group without equals its own median over all steps. A group that is faster
    than the others is measured by all of them.
    """
    kinds = [np.unique(arrivals.kind) for arrivals in found]
    by_kind: dict[int, list[tuple[int, float]]] = {}
    for group, (arrivals, own_kinds) in enumerate(zip(found, kinds, strict=True)):
        for kind, middle in zip(own_kinds.tolist(), _kind_medians(arrivals), strict=True):
            by_kind.setdefault(kind, []).append((group, middle))
    typical = [np.zeros(len(own), np.int64) for own in kinds]
    by_kind.pop(UNKNOWN_KIND, None)
    for kind, pairs in by_kind.items():
        values = np.array([value for _, value in pairs]).reshape(-1, 1)
        others = medians_of_others(values).reshape(-1)
        usual = float(median(values))
        for (group, own), other in zip(pairs, others.tolist(), strict=True):
            known = [value for value in (other, usual) if value == value]  # noqa: PLR0124  no NaN
            value = min(known, default=own)
            slot = int(np.searchsorted(kinds[group], kind))
            typical[group][slot] = 0 if value != value else round(value)  # noqa: PLR0124
    return typical


def _kind_medians(arrivals: Arrivals) -> list[float]:
    """The median transfer of each kind of a group, ascending; NaN without any."""
    there = arrivals.transfer_ns >= 0
    kinds, transfers = arrivals.kind[there], arrivals.transfer_ns[there]
    order = np.argsort(kinds, kind="stable")
    wanted = np.unique(arrivals.kind)
    firsts = np.searchsorted(kinds[order], wanted)
    lasts = np.searchsorted(kinds[order], wanted, "right")
    return [
        float(np.median(transfers[order[first:last]])) if last > first else float("nan")
        for first, last in zip(firsts.tolist(), lasts.tolist(), strict=True)
    ]
