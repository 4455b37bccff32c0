"""Which ranks take longer than others of their role, in which steps, by more than nature.

GPUs and hosts are never quite equal. A rank is late if it stands apart from the rest of its role:
by more than GPUs naturally differ, by several times the spread of the others, and in enough steps.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.stragglers.kernel_speeds import KernelSpeeds
from wavescope.analyze.ranks.stragglers.limits import LIMITS
from wavescope.analyze.ranks.stragglers.medians import (
    Reals,
    median,
    medians,
    medians_of_others,
    spread,
)
from wavescope.analyze.ranks.stragglers.own_work import OwnWork, step_time_ns
from wavescope.analyze.ranks.stragglers.roles import Roles
from wavescope.analyze.ranks.stragglers.standing_apart import standing_apart

_ERROR_OF_MEDIAN = 1.25
"""The standard error of a median in those of a mean."""


class LateIn(str, enum.Enum):
    """What of a rank's own time is longer."""

    WORK = "work"
    IDLE = "idle"


class LateRank(NamedTuple):
    """A rank that takes longer by itself; whether others waited for it is another question."""

    place: int
    late_in: LateIn
    steps: tuple[int, ...]
    is_always: bool
    excess_ns: float
    """The median over these steps."""


@dataclass(frozen=True)
class _Compared:
    """One kind of time of the ranks of a role."""

    places: tuple[int, ...]
    late_in: LateIn
    excess_ns: Reals
    """[rank, step]: more than the median of the others."""
    natural_ns: float
    """What is no fault."""

    @cached_property
    def usual_ns(self) -> Reals:
        """[rank]: the median over steps."""
        return medians(self.excess_ns.T)

    @cached_property
    def noise_ns(self) -> float:
        """How much single steps differ from that."""
        return spread(self.excess_ns - self.usual_ns[:, None])


def late_ranks(work: OwnWork, roles: Roles, speeds: KernelSpeeds) -> list[LateRank]:
    """All late ranks; one that is late in two ways by the greater one."""
    found = {late.place: late for late in _of_slow_roles(work, roles, speeds)}
    several = [places for places in roles.members if len(places) > 1]
    for compare in (_of_work, _of_idle):
        compared = [compare(work, places) for places in several]
        # Where two ranks take turns, each of them is half of their noise: other roles know better.
        most_noise_ns = median(np.array([each.noise_ns for each in compared]))
        for late in (late for each in compared for late in _late(each, most_noise_ns)):
            known = found.get(late.place)
            if known is None or _weight(late) > _weight(known):
                found[late.place] = late
    return [found[place] for place in sorted(found)]


def _of_slow_roles(work: OwnWork, roles: Roles, speeds: KernelSpeeds) -> list[LateRank]:
    """Ranks with slower kernels than other roles have, where their own role is slow as a whole."""
    found = []
    for places, factor in zip(roles.members, speeds.role_factors(roles).tolist(), strict=True):
        for place in places if factor > 1 else ():
            own = work.work_ns[place]
            steps = tuple(np.flatnonzero(~np.isnan(own)).tolist())
            if place in speeds.slow and len(steps) >= LIMITS.least_steps:
                excess_ns = median(own) * (1 - 1 / float(speeds.factor[place]))
                # Ranks that take turns are slow on average, and not in each step.
                if float(np.nanpercentile(own, 90) - median(own)) < excess_ns / 2:
                    found.append(LateRank(place, LateIn.WORK, steps, True, excess_ns))
    return found


def _weight(late: LateRank) -> float:
    return late.excess_ns * len(late.steps)


def _of_work(work: OwnWork, places: tuple[int, ...]) -> _Compared:
    values = work.work_ns[list(places)]
    natural_ns = max(
        natural_share(len(places)) * _zero_if_none(median(values)),
        LIMITS.least_share * _zero_if_none(step_time_ns(work, places)),
    )
    return _Compared(places, LateIn.WORK, values - medians_of_others(values), natural_ns)


def _of_idle(work: OwnWork, places: tuple[int, ...]) -> _Compared:
    values = work.idle_ns[list(places)]
    is_few = len(places) < LIMITS.few_ranks
    share = LIMITS.natural_idle_share_of_few if is_few else LIMITS.natural_idle_share
    natural_ns = share * _zero_if_none(step_time_ns(work, places))
    return _Compared(places, LateIn.IDLE, values - medians_of_others(values), natural_ns)


def natural_share(rank_count: int) -> float:
    """What of their work so many ranks may differ by although nothing is wrong."""
    is_few = rank_count < LIMITS.few_ranks
    return LIMITS.natural_work_share_of_few if is_few else LIMITS.natural_work_share


def _zero_if_none(value: float) -> float:
    return 0.0 if math.isnan(value) else value


def _late(compared: _Compared, most_noise_ns: float) -> list[LateRank]:
    excess, usual = compared.excess_ns, compared.usual_ns
    step_counts = np.count_nonzero(~np.isnan(excess), axis=1)
    noise_ns = min(compared.noise_ns, most_noise_ns)
    enough = step_counts >= LIMITS.least_steps
    error_ns = _ERROR_OF_MEDIAN * noise_ns / np.sqrt(np.maximum(step_counts, 1))
    always = standing_apart(np.where(enough, usual, np.nan), error_ns, compared.natural_ns)
    late_step_ns = max(LIMITS.step_factor * compared.natural_ns, LIMITS.noise_factor * noise_ns)
    found = []
    for number, place in enumerate(compared.places):
        if not enough[number]:
            continue
        limit_ns = usual[number] / 2 if number in always else late_step_ns
        steps = np.flatnonzero(excess[number] > max(limit_ns, 1.0))
        if len(steps):
            excess_ns = float(np.median(excess[number, steps]))
            own_steps = tuple(steps.tolist())
            found.append(LateRank(place, compared.late_in, own_steps, number in always, excess_ns))
    return found


def late_matrix(late: Sequence[LateRank], step_count: int) -> npt.NDArray[np.bool_]:
    """[late rank, step]: when each of them was late."""
    matrix = np.zeros((len(late), step_count), np.bool_)
    for number, rank in enumerate(late):
        matrix[number, list(rank.steps)] = True
    return matrix
