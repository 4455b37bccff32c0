"""The exchanges of all groups in one set of columns, each with what it is and in which step."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.digest import CollectiveUse
from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.measures.exchange_times import ExchangeTimes
from wavescope.analyze.ranks.measures.job_measures import JobMeasures
from wavescope.arrays import Array
from wavescope.arrays.intervals import Times


class CollectiveKind(NamedTuple):
    """What exchanges of one row have in common."""

    group: int
    """A place in `Job.groups`."""
    operation: str
    dtype: str
    size_class_bytes: int | None
    """The power of two that sizes are at least, and less than twice; None when unknown."""


def size_class_bytes(size_bytes: int) -> int | None:
    """The greatest power of two that is not above a size; None for no known size."""
    return 1 << (size_bytes.bit_length() - 1) if size_bytes > 0 else None


@dataclass(frozen=True, eq=False)
class AllExchanges:
    """One row for each exchange of the job, by group and order."""

    kinds: tuple[CollectiveKind, ...]
    kind: Times
    """A place in `kinds`."""
    step: Times
    """A step of the job, `MISSING` where unknown."""
    size_bytes: Times
    bus_factor: Array
    exposed_ns: Times
    """Summed over members."""
    last_place: Times
    """The rank that came last, by place; `MISSING` where nobody can be told."""
    group_size: Times
    """Ranks in its group, as recorded."""
    given_count: Times
    """Of those, how many were given."""
    times: tuple[ExchangeTimes, ...]

    def __len__(self) -> int:
        return len(self.kind)

    def column(self, name: str) -> Array:
        """A column of `ExchangeTimes` over all groups."""
        if name not in self._columns:
            parts = [getattr(times, name) for times in self.times]
            self._columns[name] = np.concatenate(parts) if parts else np.empty(0, np.int64)
        return self._columns[name]

    @cached_property
    def bus_gb_per_s(self) -> Array:
        """Size / transfer x bus factor, in GB/s of 10^9 bytes; not a number where unknown."""
        transfer = self.column("transfer_ns")
        known = self.column("is_timed").astype(np.bool_) & (transfer > 0)
        known &= (self.size_bytes > 0) & (self.bus_factor > 0)
        speed = self.size_bytes / np.where(known, transfer, 1) * self.bus_factor
        return np.where(known, speed, np.nan)

    @cached_property
    def _columns(self) -> dict[str, Array]:
        return {}


def all_exchanges(measures: JobMeasures) -> AllExchanges:
    """All exchanges of a job."""
    numbers: dict[CollectiveKind, int] = {}
    kinds, sizes, factors, last, group_sizes, given = [], [], [], [], [], []
    for place, group in enumerate(measures.job.groups):
        of_use = [numbers.setdefault(_kind(place, use), len(numbers)) for use in group.uses]
        kinds.append(np.array(of_use, np.int64)[group.use])
        sizes.append(np.array([use.size_bytes for use in group.uses], np.int64)[group.use])
        factors.append(np.array([use.bus_factor for use in group.uses], np.float64)[group.use])
        member = measures.exchanges[place].last_member
        last.append(np.where(member == MISSING, MISSING, group.members[member]))
        group_sizes.append(np.full(group.exchange_count, group.size, np.int64))
        given.append(np.full(group.exchange_count, len(group.members), np.int64))
    return AllExchanges(
        kinds=tuple(numbers),
        kind=_together(kinds),
        step=_together(measures.steps_of_exchanges),
        size_bytes=_together(sizes),
        bus_factor=_together(factors, np.float64),
        exposed_ns=_together(measures.exposures[0]),
        last_place=_together(last),
        group_size=_together(group_sizes),
        given_count=_together(given),
        times=measures.exchanges,
    )


def _kind(group: int, use: CollectiveUse) -> CollectiveKind:
    return CollectiveKind(group, use.operation, use.dtype, size_class_bytes(use.size_bytes))


def _together(parts: list[Array] | tuple[Array, ...], kind: type = np.int64) -> Array:
    return np.concatenate([np.empty(0, kind), *parts]).astype(kind, copy=False)
