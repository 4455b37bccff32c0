"""Everything that is measured of a job before anybody is suspected."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.arrivals import Arrivals, arrivals_of
from wavescope.analyze.ranks.stragglers.exposed_delay import (
    ExposedDelay,
    exposed_delay,
    is_path_known,
)
from wavescope.analyze.ranks.stragglers.kernel_speeds import KernelSpeeds, kernel_speeds
from wavescope.analyze.ranks.stragglers.own_work import OwnWork, own_work
from wavescope.analyze.ranks.stragglers.path import Walk
from wavescope.analyze.ranks.stragglers.path_excess import (
    PathExcess,
    path_excess,
    slowest_accounts,
    step_accounts,
)
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes, rank_times
from wavescope.analyze.ranks.stragglers.references import references
from wavescope.analyze.ranks.stragglers.report import StepAccount
from wavescope.analyze.ranks.stragglers.roles import Roles, roles_of
from wavescope.analyze.ranks.stragglers.step_windows import step_windows
from wavescope.analyze.ranks.stragglers.tied_clocks import Flags, tied_places


@dataclass(frozen=True)
class Observed:
    """A job with its critical path, the roles of its ranks and their own work."""

    job: Job
    are_steps: bool
    """Whether steps are those of the program, and not parts of the run."""
    ranks: tuple[RankTimes, ...]
    roles: Roles
    arrivals: tuple[Arrivals, ...]
    accounts: tuple[StepAccount, ...]
    """Of ranks that exchange nothing with others the slowest in each step."""
    excess: PathExcess
    work: OwnWork
    speeds: KernelSpeeds
    delay: ExposedDelay
    tied: Flags
    """[place]: whether its times can be used on the path."""


def observed(job: Job) -> Observed:
    """What can be measured of ranks whose times can be compared."""
    windows = step_windows(job)
    ranks = rank_times(job, windows)
    roles = roles_of(job, ranks, windows.count)
    tied = tied_places(job, ranks)
    arrivals = arrivals_of(job, ranks, roles, tied)
    speeds = kernel_speeds(job)
    factors = speeds.role_factors(roles)
    paths = []
    for places in _connected(job, ranks, tied):
        pieces = Walk(job, ranks, arrivals, places).pieces(_last_step(ranks, places))
        typical_ns = references(pieces, ranks, arrivals, roles, factors)
        paths.append(step_accounts(pieces, typical_ns))
    excess = path_excess(paths, len(job), len(job.groups), windows.count)
    work = own_work(ranks, windows, roles)
    return Observed(
        job,
        windows.are_steps,
        ranks,
        roles,
        arrivals,
        slowest_accounts(paths),
        excess,
        work,
        speeds,
        exposed_delay(roles, work, excess, is_path_known=is_path_known(ranks, arrivals, tied)),
        tied,
    )


def _connected(job: Job, ranks: tuple[RankTimes, ...], tied: Flags) -> list[npt.NDArray[np.int64]]:
    """Ranks with usable times and steps, as sets that exchange something with each other."""
    walkable = [bool(tied[place] and rank.has_step.any()) for place, rank in enumerate(ranks)]
    leader = list(range(len(ranks)))

    def leader_of(place: int) -> int:
        while leader[place] != place:
            leader[place] = leader[leader[place]]
            place = leader[place]
        return place

    for group in job.groups:
        members = [place for place in group.members.tolist() if walkable[place]]
        for place in members[1:]:
            leader[leader_of(place)] = leader_of(members[0])
    sets: dict[int, list[int]] = {}
    for place in range(len(ranks)):
        if walkable[place]:
            sets.setdefault(leader_of(place), []).append(place)
    return [np.array(places, np.int64) for places in sets.values()]


def _last_step(ranks: Sequence[RankTimes], places: npt.NDArray[np.int64]) -> int:
    """The last step that at least half of these ranks have."""
    counts = np.sum([ranks[place].has_step for place in places.tolist()], axis=0)
    return int(np.flatnonzero(counts >= max(1, counts.max() / 2))[-1])
