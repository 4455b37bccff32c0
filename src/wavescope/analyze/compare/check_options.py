"""What a regression check is asked: what decides, how sure it must be, what matters."""

from __future__ import annotations

import enum
from dataclasses import dataclass, field

from wavescope.analyze.compare.statistics.two_arms import TestOptions

FEWEST_RUNS_FOR_ANY_NOISE = 3
MOST_OUTSIDE_PERCENT = 10.0
"""Steps that nobody asked for must hold all but this share of each run's GPU time."""


class Per(str, enum.Enum):
    """What one value stands for."""

    AUTO = "auto"
    """A step, where the steps hold nearly all of the GPU time of every run; else a run."""
    STEP = "step"
    RUN = "run"


class Gate(str, enum.Enum):
    """What decides the verdict."""

    TOTAL = "total"
    """The metric as a whole; kernels are shown."""
    KERNELS = "kernels"
    """The whole and every kernel of note: one that regressed is enough."""


@dataclass(frozen=True)
class CheckOptions:
    """How sure a verdict must be, and what matters."""

    threshold_percent: float = 1.0
    """Changes smaller than this do not matter."""
    min_share_percent: float = 0.5
    """Kernels with a smaller share of the time of all runs are not tested."""
    gate: Gate = Gate.TOTAL
    per: Per = Per.AUTO
    test: TestOptions = field(default_factory=TestOptions)
