"""Late ranks put together: a host, a GPU model, a rotation, or a rank alone.

Only those are suspects for whom the job really waited: the excess of their parts on the critical
path must be worth mentioning.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.job import Job
from wavescope.analyze.ranks.stragglers.exposed_delay import ExposedDelay
from wavescope.analyze.ranks.stragglers.late_ranks import LateIn, LateRank, late_matrix
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.recurrence import is_temporary
from wavescope.analyze.ranks.stragglers.report import CulpritKind
from wavescope.analyze.ranks.stragglers.roles import Roles


@dataclass(frozen=True)
class Suspect:
    """Ranks that are late together, and what it cost the job."""

    kind: CulpritKind
    name: str
    late: tuple[LateRank, ...]
    steps: tuple[int, ...]
    delay_ns: int

    @property
    def places(self) -> tuple[int, ...]:
        return tuple(rank.place for rank in self.late)

    @property
    def late_in(self) -> LateIn:
        """What is longer on most of them."""
        idle_count = sum(rank.late_in is LateIn.IDLE for rank in self.late)
        return LateIn.IDLE if 2 * idle_count > len(self.late) else LateIn.WORK


def suspects_of(
    job: Job, roles: Roles, late: Sequence[LateRank], delay: ExposedDelay
) -> list[Suspect]:
    """Those that cost most first."""
    step_count = len(delay.step_ns)
    late = _waited_for(job, late, delay)
    rotating, rest = _rotating(late, delay, step_count)
    lasting = [rank for rank in rest if _lasts(rank, rest, len(job), step_count)]
    found = list(rotating)
    for kind, name, ranks in _together(job, roles, lasting):
        suspect = _suspect(kind, name, ranks, delay)
        if delay.share(suspect.delay_ns, suspect.steps) >= LIMITS.least_share:
            found.append(suspect)
    return sorted(found, key=lambda suspect: (-suspect.delay_ns, suspect.places))


def _waited_for(job: Job, late: Sequence[LateRank], delay: ExposedDelay) -> list[LateRank]:
    """Late ranks without single steps in which nobody waited for them.

    Ranks of a host that are late together share the delay among them.
    """
    hosts = [job.ranks[rank.place].identity.host or str(rank.place) for rank in late]
    found = []
    for rank, host in zip(late, hosts, strict=True):
        if rank.is_always:
            found.append(rank)
            continue
        mates = [
            other
            for other, its in zip(late, hosts, strict=True)
            if its == host and other.late_in is rank.late_in
        ]
        steps = tuple(
            step
            for step in rank.steps
            if sum(int(delay.delay_ns[mate.place, step]) for mate in mates if step in mate.steps)
            >= LIMITS.waited_share * rank.excess_ns
        )
        if steps:
            found.append(rank._replace(steps=steps))
    return found


def _lasts(rank: LateRank, late: Sequence[LateRank], rank_count: int, step_count: int) -> bool:
    """Whether a rank is late too often for chance."""
    if rank.is_always:
        return True
    if len(rank.steps) < LIMITS.least_late_steps:
        return False
    if is_temporary(rank.steps, step_count):
        return True
    others = sum(
        len(other.steps)
        for other in late
        if other.place != rank.place
        and not other.is_always
        and other.excess_ns >= rank.excess_ns / 2
    )
    rate = (others + 1) / max((rank_count - 1) * step_count, 1)
    return rank_count * _chance(len(rank.steps), step_count, min(rate, 1.0)) < LIMITS.chance


def _chance(count: int, step_count: int, rate: float) -> float:
    """The chance of at least so many hits in so many steps."""
    return sum(
        math.comb(step_count, hits) * rate**hits * (1 - rate) ** (step_count - hits)
        for hits in range(count, step_count + 1)
    )


def _suspect(
    kind: CulpritKind, name: str, ranks: Sequence[LateRank], delay: ExposedDelay
) -> Suspect:
    places = [rank.place for rank in ranks]
    steps = tuple(sorted({step for rank in ranks for step in rank.steps}))
    delay_ns = int(delay.delay_ns[np.ix_(places, steps)].sum())
    return Suspect(kind, name, tuple(ranks), steps, delay_ns)


def _rotating(
    late: Sequence[LateRank], delay: ExposedDelay, step_count: int
) -> tuple[list[Suspect], list[LateRank]]:
    """A rotation if there is one, and who is left."""
    turns = [rank for rank in late if not rank.is_always]
    if len(turns) < 2:
        return [], list(late)
    # A hiccup of somebody else is no turn of his.
    lost_ns = [rank.excess_ns * len(rank.steps) for rank in turns]
    least_ns = max(lost_ns) / 5
    turns = [rank for rank, lost in zip(turns, lost_ns, strict=True) if lost >= least_ns]
    is_late = late_matrix(turns, step_count)
    is_someones = is_late.any(axis=0)
    is_one_at_a_time = is_late.sum() <= 1.3 * is_someones.sum()
    is_shared = is_late.sum(axis=1).max(initial=0) <= LIMITS.always_share * is_someones.sum()
    if (
        not _takes_turns(is_late)
        or is_someones.mean() < LIMITS.rotating_steps
        or not (is_one_at_a_time and is_shared)
    ):
        return [], list(late)
    suspect = _suspect(CulpritKind.ROTATING, "", turns, delay)
    if delay.share(suspect.delay_ns, suspect.steps) < LIMITS.least_share:
        return [], list(late)
    in_turns = {rank.place for rank in turns}
    return [suspect], [rank for rank in late if rank.place not in in_turns]


def _takes_turns(is_late: npt.NDArray[np.bool_]) -> bool:
    """Whether several of [late rank, step] have their turns."""
    if len(is_late) >= LIMITS.rotating_ranks:
        return True
    begins = is_late & ~np.pad(is_late, ((0, 0), (1, 0)))[:, :-1]
    return len(is_late) > 1 and bool((begins.sum(axis=1) > 1).all())


def _together(
    job: Job, roles: Roles, late: Sequence[LateRank]
) -> list[tuple[CulpritKind, str, list[LateRank]]]:
    """Late ranks by GPU model, then by host, then each alone."""
    compared = {place for places in roles.members if len(places) > 1 for place in places}
    left = {rank.place: rank for rank in late}
    found = []
    models = [rank.identity.gpu_model or rank.identity.chip for rank in job.ranks]
    hosts = [rank.identity.host for rank in job.ranks]
    for kind, names in ((CulpritKind.GPU_MODEL, models), (CulpritKind.HOST, hosts)):
        for name in dict.fromkeys(names):
            own = {place for place in compared if names[place] == name}
            mine = [left[place] for place in sorted(own) if place in left]
            is_whole = len(mine) >= max(LIMITS.host_share * len(own), 1)
            has_others = any(place not in own for place in compared)
            if not (name and is_whole and has_others and _is_telling(kind, own, names)):
                continue
            found.append((kind, name, mine))
            for rank in mine:
                del left[rank.place]
    found.extend((CulpritKind.RANK, "", [rank]) for rank in left.values())
    return found


def _is_telling(kind: CulpritKind, own: set[int], names: Sequence[str]) -> bool:
    """A host with one rank is that rank; a model says something even of one."""
    if kind is CulpritKind.HOST:
        return len(own) > 1
    return 2 * len(own) <= sum(1 for name in names if name)
