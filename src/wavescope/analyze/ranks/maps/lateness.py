"""How late a rank arrived at each exchange: its own arrival less the first of all."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, NO_TIME, Job, MatchedGroup
from wavescope.arrays.intervals import Times

Reals = npt.NDArray[np.float64]


class Arrivals(NamedTuple):
    """One row for each arrival that can be compared with another one."""

    place: Times
    """The rank, by its place in the job."""
    start_ns: Times
    """When it arrived, in common time."""
    late_ns: Times
    """How long after the first of its exchange; 0 or more."""
    row: Times
    """The row in that rank's `collectives`."""


def arrivals_of(job: Job) -> Arrivals:
    """The arrivals at all exchanges that at least two ranks of comparable clocks came to."""
    found = [_of_group(job, group) for group in job.groups]
    if not found:
        return Arrivals(*(np.empty(0, np.int64) for _ in Arrivals._fields))
    return Arrivals(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def _of_group(job: Job, group: MatchedGroup) -> Arrivals:
    comparable = np.array([job.clocks[place].is_comparable for place in group.members], np.bool_)
    starts = job.starts(group)
    is_there = (group.rows != MISSING) & (starts != NO_TIME) & comparable[:, None]
    is_there &= is_there.sum(axis=0) >= 2
    latest = np.iinfo(np.int64).max
    first = np.where(is_there, starts, latest).min(axis=0, initial=latest)
    member, exchange = np.nonzero(is_there)
    start_ns = starts[member, exchange]
    return Arrivals(
        group.members[member].astype(np.int64),
        start_ns,
        start_ns - first[exchange],
        group.rows[member, exchange].astype(np.int64),
    )


def mean_by_cell(place: Times, column: Times, values: Times, shape: tuple[int, int]) -> Reals:
    """[place, column]: the mean of the values that fall there, NaN where none does."""
    is_inside = (column >= 0) & (column < shape[1])
    cell = place[is_inside] * shape[1] + column[is_inside]
    size = shape[0] * shape[1]
    count = np.bincount(cell, minlength=size)
    total = np.bincount(cell, weights=values[is_inside].astype(np.float64), minlength=size)
    mean = np.full(size, np.nan)
    np.divide(total, count, out=mean, where=count > 0)
    return mean.reshape(shape)
