"""Which ranks' times the critical path may use."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import MISSING, ClockState, Job, MatchedGroup, RankClock
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import median, medians
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes

Flags = npt.NDArray[np.bool_]

_SAMPLES = 64


def tied_places(job: Job, ranks: tuple[RankTimes, ...]) -> Flags:
    """[place]: whether ends of the rank's exchanges coincide with those of others in common time.

    A clock that was fitted to them is enough even where causality bounds it too widely to compare
    single moments: the path passes from rank to rank at ends of exchanges only, and a rank that is
    always late is bounded the less the later it is. A clock that claims to fit but does not (it
    jumped, or exchanges were matched wrongly) is not believed.
    """
    tied = np.array([_is_fitted(clock) for clock in job.clocks], np.bool_)
    off: list[list[float]] = [[] for _ in job.ranks]
    for group in job.groups:
        _add_deviations(group, ranks, tied, off)
    for place, deviations in enumerate(off):
        if deviations and median(np.array(deviations)) > LIMITS.end_deviation_ns:
            tied[place] = False
    return tied


def _is_fitted(clock: RankClock) -> bool:
    return clock.is_comparable or (clock.state is ClockState.TOO_WIDE and clock.exchange_count > 0)


def _add_deviations(
    group: MatchedGroup, ranks: tuple[RankTimes, ...], tied: Flags, off: list[list[float]]
) -> None:
    """Adds how far ends of some exchanges of a group lie from the median of all members."""
    places = [place for place in group.members.tolist() if tied[place]]
    exchanges = np.flatnonzero(group.is_synchronizing)
    if len(places) < 2 or not len(exchanges):
        return
    chosen = exchanges[np.linspace(0, len(exchanges) - 1, _SAMPLES).astype(np.int64)]
    ends = np.full((len(places), len(chosen)), np.nan)
    for number, place in enumerate(places):
        rows = group.rows[int(np.searchsorted(group.members, place)), chosen]
        there = rows != MISSING
        # Relative to the first end: whole nanoseconds since 1970 do not fit into a float.
        ends[number, there] = ranks[place].end_ns[rows[there]] - ranks[place].end_ns[0]
        ends[number, there] += float(ranks[place].end_ns[0] - ranks[places[0]].end_ns[0])
    deviations = np.abs(ends - medians(ends))
    for number, place in enumerate(places):
        off[place].extend(deviations[number][~np.isnan(deviations[number])].tolist())
