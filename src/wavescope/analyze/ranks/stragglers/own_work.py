"""How long each rank was at work and idle by itself in each step: no clock but its own needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

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
    is_usual = roles.is_usual
    window = np.where(is_usual, windows.end_ns - windows.start_ns, np.nan)
    waited = np.where(is_usual, np.stack([rank.step_waited_ns for rank in ranks]), np.nan)
    idle = np.where(is_usual, windows.idle_ns, np.nan)
    return OwnWork(window, np.maximum(window - waited - idle, 0), idle, waited)


def step_time_ns(work: OwnWork, places: Sequence[int]) -> float:
    """The median step of these ranks."""
    return median(work.window_ns[list(places)])
