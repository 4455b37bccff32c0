"""How long each rank was at work and idle by itself in each step: no clock but its own needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.stragglers.medians import Reals, median
from wavescope.analyze.ranks.stragglers.rank_times import RankTimes
from wavescope.analyze.ranks.stragglers.roles import Roles
from wavescope.analyze.ranks.stragglers.step_windows import StepWindows


@dataclass(frozen=True)
class OwnWork:
    """[place, step] in ns; NaN where a rank does not have the step, or did something else in it."""

    window_ns: Reals
    """From the end of the step before to the end of the step."""
    work_ns: Reals
    """Without what it waited for in exchanges, and without idle time."""
    idle_ns: Reals
    """How long nothing ran on its GPU."""
    waited_ns: Reals
    """How long it waited in exchanges."""


def own_work(
    ranks: tuple[RankTimes, ...],
    windows: StepWindows,
    roles: Roles,
) -> OwnWork:
    """All ranks and steps."""
    is_usual = windows.is_there & _is_usual(roles, windows.is_there)
    window = np.where(is_usual, windows.end_ns - windows.start_ns, np.nan)
    waited = np.where(is_usual, np.stack([rank.step_waited_ns for rank in ranks]), np.nan)
    idle = np.where(is_usual, windows.idle_ns, np.nan)
    return OwnWork(window, np.maximum(window - waited - idle, 0), idle, waited)


def step_time_ns(work: OwnWork, places: Sequence[int]) -> float:
    """The median step of these ranks."""
    return median(work.window_ns[list(places)])


def _is_usual(roles: Roles, is_there: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Where a rank did in a step what most ranks of its role did, and most have the step.

    Recordings begin and end within steps, each at another place.
    """
    is_usual = np.zeros_like(is_there)
    for places in roles.members:
        chosen = list(places)
        signature, there = roles.signature[chosen], is_there[chosen]
        for step in range(is_there.shape[1]):
            values, counts = np.unique(signature[there[:, step], step], return_counts=True)
            if len(values) and 2 * counts.max() >= len(chosen):
                is_usual[chosen, step] = signature[:, step] == values[np.argmax(counts)]
    return is_usual
