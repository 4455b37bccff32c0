"""Everything that is measured of a job before anybody is suspected."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.arrivals import Arrivals, arrivals_of
from wavescope.analyze.ranks.stragglers.own_work import OwnWork, own_work
from wavescope.analyze.ranks.stragglers.path import Walk
from wavescope.analyze.ranks.stragglers.path_excess import PathExcess, path_excess, step_accounts
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes, rank_times
from wavescope.analyze.ranks.stragglers.references import references
from wavescope.analyze.ranks.stragglers.report import StepAccount
from wavescope.analyze.ranks.stragglers.roles import Roles, roles_of
from wavescope.analyze.ranks.stragglers.step_windows import step_windows


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
    excess: PathExcess
    work: OwnWork


def observed(job: Job) -> Observed:
    """A job of which at least one rank has comparable times and a step."""
    windows = step_windows(job)
    ranks = rank_times(job, windows)
    roles = roles_of(job, ranks, windows.count)
    arrivals = arrivals_of(job)
    places = _walkable(job, ranks)
    pieces = Walk(job, ranks, arrivals, places).pieces(_last_step(ranks, places))
    accounts = step_accounts(pieces, references(pieces, ranks, arrivals, roles))
    excess = path_excess(accounts, len(job), len(job.groups), windows.count)
    work = own_work(ranks, windows, roles)
    return Observed(job, windows.are_steps, ranks, roles, arrivals, accounts, excess, work)


def _walkable(job: Job, ranks: tuple[RankTimes, ...]) -> npt.NDArray[np.int64]:
    """Places of ranks with a step and a clock that can be compared."""
    found = [
        place
        for place, rank in enumerate(ranks)
        if job.clocks[place].is_comparable and rank.has_step.any()
    ]
    return np.array(found, np.int64)


def _last_step(ranks: tuple[RankTimes, ...], places: npt.NDArray[np.int64]) -> int:
    """The last step that at least half of these ranks have; -1 without any."""
    if not len(places):
        return -1
    counts = np.sum([ranks[place].has_step for place in places.tolist()], axis=0)
    return int(np.flatnonzero(counts >= max(1, counts.max() / 2))[-1])
