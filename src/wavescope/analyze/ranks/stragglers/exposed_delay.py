"""How long the job waited for each rank in each step.

Where the critical path is known, it is the excess of the rank's parts of it. Where it is not, since
clocks do not fit or exchanges were not matched, it is what the rank takes longer by itself, as far
as others wait longer in exchanges than the rank does: no clock is compared for that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.stragglers.arrivals import Arrivals
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import Reals, medians, medians_of_others
from wavescope.analyze.ranks.stragglers.own_work import OwnWork
from wavescope.analyze.ranks.stragglers.path_excess import PathExcess
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes
from wavescope.analyze.ranks.stragglers.roles import Roles
from wavescope.analyze.ranks.stragglers.tied_clocks import Flags
from wavescope.arrays.intervals import Times


@dataclass(frozen=True)
class ExposedDelay:
    """What each rank cost."""

    delay_ns: Times
    """[place, step]."""
    step_ns: Times
    """[step]: how long each took."""
    is_on_path: npt.NDArray[np.bool_]
    """[place]: whether the path tells, and not only waits."""

    def share(self, delay_ns: int, steps: tuple[int, ...] | None = None) -> float:
        """That delay of the time of these steps, or of all; 1 is all of it."""
        chosen = self.step_ns if steps is None else self.step_ns[list(steps)]
        whole = int(chosen.sum())
        return delay_ns / whole if whole > 0 else 0.0


def exposed_delay(
    roles: Roles, work: OwnWork, excess: PathExcess, *, is_path_known: bool
) -> ExposedDelay:
    """By the path where it is known, by waits elsewhere."""
    is_on_path = np.full(len(work.work_ns), is_path_known, np.bool_)
    delay_ns = np.where(is_on_path[:, None], excess.local_ns, _by_waits(roles, work))
    windows = medians(work.window_ns)
    windows = np.where(np.isnan(windows), 0, windows).astype(np.int64)
    step_ns = np.where(excess.actual_ns > 0, excess.actual_ns, windows)
    return ExposedDelay(delay_ns, step_ns, is_on_path)


def is_path_known(ranks: tuple[RankTimes, ...], arrivals: Sequence[Arrivals], tied: Flags) -> bool:
    """Whether nearly all time that ranks waited was in exchanges of which all sides are known."""
    if 2 * np.count_nonzero(tied) < len(ranks):
        return False
    # The last flag is for rows without a group, whose number is -1.
    is_known = np.array([*(found.is_complete for found in arrivals), False], np.bool_)
    waited = unknown = 0
    for rank in ranks:
        lengths = np.diff(rank.waited_ns, prepend=0)
        waited += int(lengths.sum())
        unknown += int(lengths[~is_known[rank.kinds.group[rank.wait_row]]].sum())
    return unknown <= LIMITS.unmatched_share * waited


def _by_waits(roles: Roles, work: OwnWork) -> Times:
    delay = np.zeros(work.work_ns.shape)
    for places in roles.members:
        chosen = list(places)
        if len(chosen) < 2:
            continue
        longer = _above_others(work.work_ns[chosen]) + _above_others(work.idle_ns[chosen])
        waits_less = -_above_others(work.waited_ns[chosen])
        delay[chosen] = np.maximum(np.minimum(longer, waits_less), 0)
    return np.where(np.isnan(delay), 0, delay).astype(np.int64)


def _above_others(values: Reals) -> Reals:
    above: Reals = values - medians_of_others(values)
    return above
