"""What each mode of recording costs, by rounds of runs alone and recorded.

The cost of a mode is the geometric mean over rounds of (time recorded / time alone), less one; for
a metric such as tokens per second, time is its reciprocal. docs/overhead-validation.md has it all.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

from wavescope.analyze.compare.statistics.effects import Effect, paired_effect
from wavescope.analyze.compare.statistics.verdicts import Verdict, holm, verdict_of
from wavescope.model.overhead_runs import MetricKind, OverheadRuns


@dataclass(frozen=True)
class OverheadCheck:
    """How sure statements must be, and what cost does not matter."""

    threshold_percent: float = 1.0
    significance: float = 0.05


class MetricChange(NamedTuple):
    """The change of a metric in percent, and both ends of its interval."""

    percent: float | None
    low_percent: float | None
    high_percent: float | None


@dataclass(frozen=True)
class ModeCost:
    """What one mode costs in one measurement."""

    mode: str
    effect: Effect
    """Of time: an increase is a cost."""
    baseline: float
    """The metric without recording."""
    traced: float
    verdict: Verdict | None
    """None where the mode recorded nothing: what does nothing is not free."""

    def metric_change(self, metric: MetricKind) -> MetricChange:
        """What the cost is as a change of the metric."""
        effect = self.effect
        if not metric.higher_is_better:
            return MetricChange(effect.change_percent, effect.low_percent, effect.high_percent)
        return MetricChange(
            _reciprocal(effect.change_percent),
            _reciprocal(effect.high_percent),
            _reciprocal(effect.low_percent),
        )


def _reciprocal(cost_percent: float | None) -> float | None:
    """The change of a rate when time changes so."""
    return None if cost_percent is None else 100 * (1 / (1 + cost_percent / 100) - 1)


def mode_costs(runs: OverheadRuns, check: OverheadCheck | None = None) -> list[ModeCost]:
    """The cost of every mode that ran in at least one round with the baseline.

    The modes are several tests at once: their p-values are adjusted for that.
    """
    check = check or OverheadCheck()
    measured = []
    for mode in runs.modes:
        pairs = runs.pairs(mode)
        if pairs:
            alone, recorded = [pair[0].value for pair in pairs], [pair[1].value for pair in pairs]
            before, after = (recorded, alone) if runs.metric.higher_is_better else (alone, recorded)
            effect = paired_effect(before, after, check.significance)
            measured.append((mode, effect, _center(alone), _center(recorded)))
    known = [
        effect.p_value
        for mode, effect, _, _ in measured
        if effect.p_value is not None and not recorded_nothing(runs, mode)
    ]
    adjusted = iter(holm(known))
    costs = []
    for mode, effect, alone_center, recorded_center in measured:
        verdict = None
        if not recorded_nothing(runs, mode):
            p_value = next(adjusted) if effect.is_known else None
            verdict = verdict_of(effect, check.threshold_percent, check.significance, p_value)
        costs.append(ModeCost(mode, effect, alone_center, recorded_center, verdict))
    return costs


def recorded_nothing(runs: OverheadRuns, mode: str) -> bool:
    """Whether all traces of a mode are known to be without any op."""
    facts = [run.trace for run in runs.of_arm(mode) if run.trace is not None]
    return bool(facts) and not any(fact.op_count for fact in facts)


def _center(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values)
