"""Who came last to each exchange, and how long the transfer took from then on."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, NO_TIME, Job, MatchedGroup
from wavescope.arrays.intervals import Times

Numbers = npt.NDArray[np.int64]


@dataclass(frozen=True)
class Arrivals:
    """The exchanges of one group, as far as ranks with comparable clocks tell."""

    start_ns: Times
    """[member, exchange] in common time; `NO_TIME` where a rank is missing or has another time."""
    last_member: Numbers
    """For each exchange the member that came last."""
    last_ns: Times
    """When it came; `NO_TIME` where nobody was there."""
    member_count: Numbers
    """How many members were there."""
    transfer_ns: Times
    """How long it took the last one; -1 where nobody was there."""
    typical_ns: Times
    """The median of transfers of the same kind and size in groups that lie alike."""
    kind: Numbers
    """For each exchange a number of its kind and size, common to all groups."""
    is_complete: bool
    """Whether all ranks of the group were given and can be compared."""


def arrivals_of(job: Job) -> tuple[Arrivals, ...]:
    """One for each group of the job."""
    kinds: dict[tuple[object, ...], int] = {}
    found = [_arrivals(job, group, kinds) for group in job.groups]
    typical = _typical_transfers(found, len(kinds))
    return tuple(replace(arrivals, typical_ns=typical[arrivals.kind]) for arrivals in found)


def host_count(job: Job, group: MatchedGroup) -> int:
    """On how many hosts the members of a group are."""
    return len({job.ranks[place].identity.host for place in group.members.tolist()})


def _arrivals(job: Job, group: MatchedGroup, kinds: dict[tuple[object, ...], int]) -> Arrivals:
    comparable = np.array([job.clocks[place].is_comparable for place in group.members], np.bool_)
    starts = job.starts(group)
    if not comparable.all():
        starts = np.where(comparable[:, None], starts, NO_TIME)
    columns = np.arange(group.exchange_count)
    last_member = np.argmax(starts, axis=0)
    last_ns = starts[last_member, columns]
    ends = job.ends(group)[last_member, columns]
    is_there = last_ns != NO_TIME
    hosts = host_count(job, group)
    codes = [
        kinds.setdefault(
            (use.operation, use.size_bytes, use.dtype, group.size, len(group.members), hosts),
            len(kinds),
        )
        for use in group.uses
    ]
    return Arrivals(
        start_ns=starts,
        last_member=last_member,
        last_ns=last_ns,
        member_count=np.count_nonzero(starts != NO_TIME, axis=0),
        transfer_ns=np.where(is_there, np.maximum(ends - np.where(is_there, last_ns, 0), 0), -1),
        typical_ns=np.zeros(group.exchange_count, np.int64),
        kind=np.array(codes or [MISSING], np.int64)[group.use],
        is_complete=bool(comparable.all()) and len(group.members) >= group.size,
    )


def _typical_transfers(found: list[Arrivals], kind_count: int) -> Times:
    """For each kind the median transfer over all groups and steps."""
    typical = np.zeros(kind_count, np.int64)
    if not found:
        return typical
    kinds = np.concatenate([arrivals.kind for arrivals in found])
    transfers = np.concatenate([arrivals.transfer_ns for arrivals in found])
    kinds, transfers = kinds[transfers >= 0], transfers[transfers >= 0]
    order = np.argsort(kinds, kind="stable")
    bounds = np.searchsorted(kinds[order], np.arange(kind_count + 1))
    for kind in range(kind_count):
        mine = transfers[order[bounds[kind] : bounds[kind + 1]]]
        if len(mine):
            typical[kind] = int(np.median(mine))
    return typical
