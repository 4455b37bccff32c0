"""Steps that are not like the others of their run: those of a warm-up, and single slow ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare.statistics.step_noise import FloatArray, Statistic

_FEWEST_STEPS = 8
"""Of fewer steps nobody can say what is usual."""
_DEVIATION_OF_MAD = 1.4826
"""Standard deviation of bell-shaped noise by its median absolute deviation."""
_WARM_UP_DEVIATIONS = 5.0
_WARM_UP_LEAST = 0.05
_SPIKE_DEVIATIONS = 10.0
_SPIKE_LEAST = 0.5
_MOST_SPIKES = 0.05
"""Where more steps than this are slow, slow steps are part of what the program does."""


def warm_up_steps(runs: Sequence[FloatArray]) -> int:
    """How many steps at the beginning of every run are to be left out.

    A warm-up happens in most runs: a single slow beginning is noise. All runs lose the longest
    one's steps, so that none is favoured.
    """
    found = [_leading_slow_steps(run) for run in runs]
    if 2 * sum(count > 0 for count in found) < len(found):
        return 0
    return min(max(found), *(len(run) // 2 for run in runs))


def _leading_slow_steps(values: FloatArray) -> int:
    """The steps at the beginning that are far above what the second half has."""
    if len(values) < _FEWEST_STEPS:
        return 0
    settled = values[len(values) // 2 :]
    usual = float(np.median(settled))
    deviation = _DEVIATION_OF_MAD * float(np.median(np.abs(settled - usual)))
    limit = usual + max(_WARM_UP_DEVIATIONS * deviation, _WARM_UP_LEAST * abs(usual))
    slow = values > limit
    return len(values) // 2 if slow.all() else int(np.argmin(slow))


class SlowSteps(NamedTuple):
    """Single steps that take far longer than the others of their run."""

    share: float
    """Of all steps."""
    factor: float
    """How many times as long as usual they take, by their median; 1 without any."""

    @property
    def are_there(self) -> bool:
        return 0 < self.share <= _MOST_SPIKES


def slow_steps(runs: Sequence[FloatArray]) -> SlowSteps:
    """The slow steps of runs; none where runs are too short to tell."""
    usual = [float(np.median(run)) for run in runs]
    if min(len(run) for run in runs) < _FEWEST_STEPS or min(usual) <= 0:
        return SlowSteps(0.0, 1.0)
    ratios = np.concatenate([run / median for run, median in zip(runs, usual, strict=True)])
    deviation = _DEVIATION_OF_MAD * float(np.median(np.abs(ratios - 1)))
    slow = ratios[ratios > 1 + max(_SPIKE_DEVIATIONS * deviation, _SPIKE_LEAST)]
    return SlowSteps(len(slow) / len(ratios), float(np.median(slow)) if len(slow) else 1.0)


def fitting_statistic(runs: Sequence[FloatArray]) -> Statistic:
    """The mean; the median where single slow steps would drown what all others say."""
    return Statistic.MEDIAN if slow_steps(runs).are_there else Statistic.MEAN
