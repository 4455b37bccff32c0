"""Ranks by time: how busy each rank was in each piece of the job's common time.

A digest has its rank's time in bins of the rank's own clock. Here these are moved by the rank's
clock and cut again at the edges that all ranks share: sums of time before each edge are exact at
the digest's own edges and linear between them, so nothing is lost or counted twice. How time lies
within a bin of the digest is not known; `RankMap.error` says by how much a share can be off.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.digest import RankDigest, TimeBins
from wavescope.analyze.ranks.job import Job, RankClock
from wavescope.analyze.ranks.maps.lateness import Reals, arrivals_of, mean_by_cell
from wavescope.arrays.intervals import Times

SHARES = ("busy", "compute", "exposed")
"""The measures that are shares of time, as the matrices are called."""


@dataclass(frozen=True)
class RankMap:
    """Matrices [rank, bin]; NaN where a rank was not recorded."""

    first_ns: int
    """The common time at which the first bin begins."""
    width_ns: int
    """Of a bin."""
    recorded_ns: Reals
    """How much of a bin the rank was recorded, in nanoseconds of its own clock."""
    busy: Reals
    """Of that time, the share (0 to 1) in which anything ran on the GPU."""
    compute: Reals
    """The share in which compute ran."""
    exposed: Reals
    """The share in which collectives ran and no compute."""
    lateness_ns: Reals
    """How long after the first rank it arrived at its exchanges, the mean of those that it came to
    in this bin; NaN where it came to none."""
    error: Reals
    """By how much a share can be off, because a digest does not say where within its bins time
    lies: the largest of the three measures."""
    is_own_clock: npt.NDArray[np.bool_]
    """For each rank whether its clock is not comparable: it is shown from its own start on."""
    own_first_ns: Times
    """Each rank's own time where the first bin begins."""
    own_rate: Reals
    """How many nanoseconds of its own clock pass in one of common time."""

    @property
    def bin_count(self) -> int:
        return int(self.busy.shape[1])

    @property
    def span_ns(self) -> int:
        return self.width_ns * self.bin_count


@dataclass(frozen=True)
class _PlacedBins:
    """A rank's bins: its recorded time cut at `edges`, in own time since the map's left edge."""

    bins: TimeBins
    own: Reals
    """Edges in the rank's own time since its first edge."""
    edges: Reals
    """The same edges in common time since the map's first."""


def rank_time_map(job: Job, bin_count: int = 200) -> RankMap:
    """The job's time cut into `bin_count` equal bins, which all ranks share."""
    starts = [_common_start(job, place) for place in range(len(job))]
    known = [start for start in starts if start is not None]
    first_ns = min(known, default=0)
    placed = [
        _placed(job, place, first_ns if start is None else start, first_ns)
        for place, start in enumerate(starts)
    ]
    last = max((rank.edges[-1] for rank in placed if rank is not None), default=0.0)
    width_ns = max(1, -(-int(np.ceil(last)) // bin_count))
    shape = (len(job), bin_count)
    values = {name: np.full(shape, np.nan) for name in (*SHARES, "error")}
    recorded_ns = np.zeros(shape)
    cuts = np.arange(bin_count + 1, dtype=np.float64) * width_ns
    for place, rank in enumerate(placed):
        if rank is not None:
            recorded_ns[place] = _cut_again(rank, cuts, place, values)
    arrivals = arrivals_of(job)
    column = np.minimum((arrivals.start_ns - first_ns) // width_ns, bin_count - 1)
    return RankMap(
        first_ns=first_ns,
        width_ns=width_ns,
        recorded_ns=recorded_ns,
        **values,
        lateness_ns=mean_by_cell(arrivals.place, column, arrivals.late_ns, shape),
        is_own_clock=np.array([start is None for start in starts], np.bool_),
        own_first_ns=np.array(
            [_own_first(job, place, first_ns) for place in range(len(job))], np.int64
        ),
        own_rate=1 / np.array([_rate(clock) for clock in job.clocks], np.float64),
    )


def _rate(clock: RankClock) -> float:
    """How many nanoseconds of common time pass in one of its own; clocks do not run backwards."""
    return max(0.5, 1 + clock.drift_ppm * 1e-6) if clock.is_comparable else 1.0


def _own_first(job: Job, place: int, first_ns: int) -> int:
    if job.clocks[place].is_comparable:
        return int(job.clocks[place].to_own(np.array([first_ns], np.int64))[0])
    rank = job.ranks[place]
    return int(_recorded_edges(rank)[0]) if len(rank.bins) else rank.first_ns


def _common_start(job: Job, place: int) -> int | None:
    """When the rank's first bin begins in common time; None where its clock says nothing."""
    clock = job.clocks[place]
    if not clock.is_comparable or not len(job.ranks[place].bins):
        return None
    own = _recorded_edges(job.ranks[place])[0]
    return int(clock.to_common(np.array([own], np.int64))[0])


def _recorded_edges(rank: RankDigest) -> npt.NDArray[np.int64]:
    """The edges of the rank's bins; the outer ones no further out than its first and last op."""
    bins = rank.bins
    edges = bins.first_ns + np.arange(len(bins) + 1, dtype=np.int64) * max(1, bins.width_ns)
    if edges[0] < rank.first_ns < edges[1]:
        edges[0] = rank.first_ns
    if edges[-2] < rank.last_ns < edges[-1]:
        edges[-1] = rank.last_ns
    return edges


def _placed(job: Job, place: int, start_ns: int, first_ns: int) -> _PlacedBins | None:
    rank, clock = job.ranks[place], job.clocks[place]
    if not len(rank.bins):
        return None
    edges = _recorded_edges(rank)
    own = (edges - edges[0]).astype(np.float64)
    return _PlacedBins(rank.bins, own, own * _rate(clock) + (start_ns - first_ns))


def _cut_again(
    rank: _PlacedBins, cuts: Reals, place: int, values: dict[str, Reals]
) -> npt.NDArray[np.float64]:
    """Put the rank's shares into its rows of `values`; the recorded time of each bin."""
    own_cuts = np.interp(cuts, rank.edges, rank.own)
    recorded_ns: Reals = np.diff(own_cuts)
    is_recorded = recorded_ns > 0
    errors = np.zeros(len(recorded_ns))
    widths = np.diff(rank.own)
    for name in SHARES:
        time_ns = np.clip(getattr(rank.bins, f"{name}_ns"), 0, widths)
        before = np.concatenate([[0.0], np.cumsum(time_ns)])
        part_ns = np.diff(np.interp(own_cuts, rank.own, before))
        share = values[name][place]
        np.divide(part_ns, recorded_ns, out=share, where=is_recorded)
        np.clip(share, 0, 1, out=share)
        uncertain_ns = _uncertain_ns(own_cuts, rank.own, time_ns, widths)
        np.maximum(errors, uncertain_ns[:-1] + uncertain_ns[1:], out=errors)
    error = values["error"][place]
    np.divide(errors, recorded_ns, out=error, where=is_recorded)
    np.clip(error, 0, 1, out=error)
    return recorded_ns


def _uncertain_ns(own_cuts: Reals, edges: Reals, time_ns: Reals, widths: Reals) -> Reals:
    """For each cut how much more or less time can lie before it than is taken.

    A bin of width w has v of some work, and a cut leaves f * w of it before: f * v is taken, and
    there can be as little as v - (1 - f) * w and as much as f * w.
    """
    inside = np.clip(np.searchsorted(edges, own_cuts, side="right") - 1, 0, len(widths) - 1)
    width, time = widths[inside], time_ns[inside]
    before = np.clip(own_cuts - edges[inside], 0, width)
    taken = np.divide(before * time, width, out=np.zeros(len(own_cuts)), where=width > 0)
    least = np.maximum(0, time - (width - before))
    most = np.minimum(time, before)
    uncertain: Reals = np.maximum(taken - least, most - taken)
    return np.maximum(uncertain, 0)
