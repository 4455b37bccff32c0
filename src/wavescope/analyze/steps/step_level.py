"""Which of a lane's repetitions are its steps: layers repeat within them, requests around them.

What tells a step: a kernel that runs once in it begins or ends steps by name (embedding, sampling,
optimizer); it is one replay of a graph; the GPU waits for the host once in it. Without any such
sign the smallest repetition is taken for the layers, and the next larger one for the steps.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from wavescope.analyze.steps.lanes import Lane
from wavescope.analyze.steps.repetition import (
    FEWEST_REPEATS,
    LabelPositions,
    Positions,
    Repetition,
    Signatures,
)
from wavescope.analyze.steps.step_roles import StepRole

LEAST_COVERED_SHARE = 0.5
"""Repetitions that cover less than this share of what the largest one covers are parts of it."""
GAP_CONTRAST = 4.0
"""A gap this many times the usual one, in every period, is the host between two steps."""
LEAST_GAP_NS = 2_000
_SAMPLED_PERIODS = 48
_SAMPLED_OPS = 1 << 20
_MOST_CANDIDATES = 12


@dataclass(frozen=True)
class StepLevel:
    """The repetition that is a step; `anchor` is the label whose occurrences count the steps."""

    repetition: Repetition
    anchor: int
    signs: int


@dataclass(frozen=True)
class LaneIndex:
    """What is asked of a lane's labels again and again."""

    lane: Lane
    positions: LabelPositions
    sums: Signatures
    roles: npt.NDArray[np.int8]
    launches: npt.NDArray[np.int64]
    """A number that changes from op to op where they were not launched together as a graph."""

    def whole_periods(self, repetition: Repetition, anchor: int) -> Positions:
        """Where the periods start that hold exactly what the repetition holds."""
        where = self.positions.of_label(anchor)
        same = self.sums[where[1:]] - self.sums[where[:-1]] == np.uint64(repetition.signature)
        firsts: Positions = where[:-1][same]
        return firsts


def step_level(index: LaneIndex, found: list[Repetition], least_period: int) -> StepLevel | None:
    """The repetition that is a step, None when no step repeats."""
    large = [r for r in found if r.period >= least_period]
    if not large:
        return None
    least = LEAST_COVERED_SHARE * large[0].covered_ops
    candidates = [r for r in large if r.covered_ops >= least][:_MOST_CANDIDATES]
    levels = sorted((_level(index, r) for r in candidates), key=lambda s: s.repetition.period)
    best = max(levels, key=lambda level: (level.signs, -level.repetition.period))
    if best.signs:
        return best
    smallest = levels[0]
    larger = [s for s in levels if s.repetition.period >= 2 * smallest.repetition.period]
    if larger:
        return larger[0]
    return None if _is_within_a_step(index, smallest) else smallest


def _is_within_a_step(index: LaneIndex, level: StepLevel) -> bool:
    """Whether what repeats are layers: a step begins or ends outside of them by name, or several
    of them were launched together as one graph."""
    period = level.repetition.period
    firsts = index.whole_periods(level.repetition, level.anchor)
    firsts = firsts[firsts + period < len(index.lane)]
    if not firsts.size:
        return True
    inside = index.lane.labels[firsts[0] : firsts[0] + period]
    roles_inside = set(index.roles[inside].tolist())
    roles_anywhere = set(index.roles[index.positions.counts.nonzero()[0]].tolist())
    if roles_anywhere - roles_inside - {StepRole.NONE}:
        return True
    return bool(np.mean(index.launches[firsts] == index.launches[firsts + period]) > 0.5)


def _level(index: LaneIndex, repetition: Repetition) -> StepLevel:
    roles = index.roles[repetition.anchors]
    anchor = _best_anchor(index, repetition)
    sampled = sampled_periods(index.whole_periods(repetition, anchor), repetition.period)
    signs = 2 * bool((roles == StepRole.END).any()) + bool((roles == StepRole.BEGIN).any())
    signs += _has_host_gap(index.lane, repetition.period, sampled)
    signs += _is_one_graph(index.launches, repetition.period, sampled)
    return StepLevel(repetition, anchor, signs)


def _best_anchor(index: LaneIndex, repetition: Repetition) -> int:
    """An anchor with a role, which other kinds of steps have too; else the one that is elsewhere
    least, so that it cuts nothing but these steps."""
    counts = index.positions.counts
    for role in (StepRole.END, StepRole.BEGIN):
        with_role = [label for label in repetition.anchors if index.roles[label] == role]
        if with_role:
            return max(with_role, key=lambda label: int(counts[label]))
    return min(repetition.anchors, key=lambda label: int(counts[label]))


def sampled_periods(firsts: Positions, period: int) -> Positions:
    """Some of the periods, spread over all of them: few enough to look at each of their ops."""
    wanted = max(FEWEST_REPEATS, min(_SAMPLED_PERIODS, _SAMPLED_OPS // period))
    return firsts[:: max(1, firsts.size // wanted)]


def typical_gaps(lane: Lane, period: int, firsts: Positions) -> npt.NDArray[np.float64]:
    """The median gap before each op of a period, given where some periods start."""
    whole = firsts[firsts + period <= len(lane)]
    if not whole.size:
        return np.zeros(period)
    ops = (whole[:, None] + np.arange(period)).reshape(-1)
    gaps = lane.gaps_before(ops).reshape(whole.size, period)
    result: npt.NDArray[np.float64] = np.median(gaps, axis=0)
    return result


def _has_host_gap(lane: Lane, period: int, firsts: Positions) -> bool:
    gaps = typical_gaps(lane, period, firsts)
    usual = max(float(np.median(gaps)), LEAST_GAP_NS / GAP_CONTRAST)
    return int((gaps > GAP_CONTRAST * usual).sum()) == 1


def _is_one_graph(launches: Positions, period: int, firsts: Positions) -> bool:
    """Whether most ops of most periods were launched together, and apart from the next period's."""
    whole = firsts[firsts + period < launches.size]
    if not whole.size or period < 2:
        return False
    inside = launches[whole[:, None] + np.arange(period)]
    changes = (inside[:, 1:] != inside[:, :-1]).sum(axis=1)
    few = changes <= period // 4
    apart = launches[whole] != launches[whole + period]
    return bool(np.mean(few & apart) > 0.8)
