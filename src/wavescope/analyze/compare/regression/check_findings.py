"""What a regression check finds: kernels that regressed, and what makes a verdict doubtful."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.compare.regression.check_tables import Tested
from wavescope.analyze.compare.regression.run_values import (
    MOST_OUTSIDE_PERCENT,
    CheckOptions,
    RunValues,
)
from wavescope.analyze.compare.statistics.effects import (
    FEWEST_RUNS_FOR_TWO_STATES,
    Effect,
    runs_needed,
)
from wavescope.analyze.compare.statistics.run_order import RunOrder
from wavescope.analyze.compare.statistics.unusual_steps import slow_steps
from wavescope.analyze.compare.statistics.verdicts import Verdict
from wavescope.model.result import Finding, Severity

IN_TURNS = "record the versions in turns: base, new, base, new"


def findings(
    verdict: Verdict, whole: Tested, kernels: Sequence[Tested], options: CheckOptions
) -> list[Finding]:
    """Kernels that regressed, and what makes the verdict doubtful."""
    found = [
        Finding(
            "kernel-regression",
            Severity.PROBLEM,
            f"{row.name} takes {row.effect.change_percent:+.1f} %",
            f"interval {_interval(row.effect)}, adjusted p {row.adjusted_p or 0:.2g}",
            "look at what changed in this kernel, its shapes or its tuning",
            row.name,
        )
        for row in kernels
        if row.verdict is Verdict.REGRESSION
    ]
    if verdict is Verdict.INCONCLUSIVE and not _hides_a_change(whole, options):
        found.append(_inconclusive(whole.effect, options))
    if whole.effect.run_noise_percent == 0:
        found.append(
            Finding(
                "identical-runs",
                Severity.WARNING,
                "the runs of each version are equal to the nanosecond",
                "real runs differ: copies of one trace are one run",
                "record every run anew",
            )
        )
    counts = whole.effect.base_run_count, whole.effect.new_run_count
    if whole.effect.is_known and _are_few(whole.effect):
        found.append(
            Finding(
                "few-runs",
                Severity.WARNING,
                f"so few runs can show no change below {whole.effect.allowance_percent:.0f} %",
                f"{counts[0]} base and {counts[1]} new runs; where a machine has two states, such "
                "as two clocks, all runs of one version may be made in one and those of the other "
                f"in the other: by chance in {_split_chance(sum(counts))} cases",
                "record at least three runs of each",
            )
        )
    return found


def _are_few(effect: Effect) -> bool:
    """Whether two states of the machine may be taken for a change."""
    return effect.base_run_count + effect.new_run_count < FEWEST_RUNS_FOR_TWO_STATES


def _split_chance(run_count: int) -> str:
    return f"one of {2 ** (run_count - 1)}"


def outside_findings(runs: Sequence[RunValues]) -> list[Finding]:
    """What the steps leave out, where that is much."""
    outside_percent = max(run.outside_percent for run in runs)
    if outside_percent <= MOST_OUTSIDE_PERCENT:
        return []
    return [
        Finding(
            "outside-steps",
            Severity.WARNING,
            f"up to {outside_percent:.0f} % of the GPU time is outside the steps",
            "what lies outside them does not count for the verdict",
            "--per run compares whole runs",
        )
    ]


def _inconclusive(effect: Effect, options: CheckOptions) -> Finding:
    needed = runs_needed(effect, options.threshold_percent, options.test.significance)
    if not effect.is_known:
        evidence = "one run of each says nothing about how runs differ by themselves"
        advice = "record several runs of each version"
    else:
        assert effect.detectable_percent is not None
        evidence = (
            f"interval {_interval(effect)}: a slow-down of {options.threshold_percent:g} % is "
            f"neither shown nor excluded; {effect.detectable_percent:.1f} % would be found four "
            f"times out of five"
        )
        advice = (
            f"record {needed} runs of each, in turns, or longer ones"
            if needed
            else "make the runs quieter: fixed clocks, an idle machine, longer runs"
        )
    return Finding("noise-too-large", Severity.WARNING, "the noise hides it", evidence, advice)


def _interval(effect: Effect) -> str:
    if effect.low_percent is None or effect.high_percent is None:
        return "unknown"
    return f"{effect.low_percent:+.1f} % to {effect.high_percent:+.1f} %"


def order_findings(whole: Tested, order: RunOrder, options: CheckOptions) -> list[Finding]:
    """Where the order of the runs, or a trend that they share, decides the verdict."""
    effect = whole.effect
    if not effect.is_known:
        return []
    found = []
    if _hides_a_change(whole, options) and not _are_few(effect):
        assumed = "" if order.source else " (assumed: the traces do not say when they were made)"
        found.append(
            Finding(
                "order-of-runs",
                Severity.WARNING,
                "the change may be a drift of the machine",
                f"the runs were made {order.words}{assumed}; a machine that changes by "
                f"{options.test.drift_percent:g} % from run to run makes up to "
                f"{effect.allowance_percent:.1f} % of it by itself",
                f"{IN_TURNS}; --order tells the order, --drift what the machine does",
            )
        )
    raw_percent = 100 * (effect.new_value / effect.base_value - 1) if effect.base_value else 0.0
    apart_percent = abs(raw_percent - effect.change_percent)
    if effect.trend_percent is not None and apart_percent >= options.threshold_percent / 2:
        found.append(_trend_finding(effect, effect.trend_percent, raw_percent))
    return found


def _hides_a_change(whole: Tested, options: CheckOptions) -> bool:
    """Whether noise alone would not explain the change, but a drift may."""
    effect = whole.effect
    if whole.verdict is not Verdict.INCONCLUSIVE or effect.low_percent is None:
        return False
    stands_out = effect.low_percent > 0 or (effect.high_percent or 0) < 0
    return stands_out and abs(effect.change_percent) >= options.threshold_percent


def _trend_finding(effect: Effect, trend_percent: float, raw_percent: float) -> Finding:
    slower = "slower" if trend_percent > 0 else "faster"
    return Finding(
        "trend-of-runs",
        Severity.WARNING,
        f"each run was about {abs(trend_percent):.2f} % {slower} than the one before",
        f"{raw_percent:+.1f} % between the means of the versions, {effect.change_percent:+.1f} % "
        "when the trend of all runs is taken out, which is what counts",
        f"let the machine settle, and {IN_TURNS}",
    )


def step_findings(
    base: Sequence[RunValues], new: Sequence[RunValues], warm_up: int
) -> list[Finding]:
    """Steps that were left out or do not count, and versions of which one has more of them."""
    found = []
    if warm_up:
        found.append(
            Finding(
                "warm-up-steps",
                Severity.INFO,
                f"the first {warm_up} steps of each run are left out"
                if warm_up > 1
                else "the first step of each run is left out",
                "most runs begin with steps that are far slower than their second half",
                "--skip-steps 0 counts all of them",
            )
        )
    runs = [run.total for run in (*base, *new)]
    slow = slow_steps(runs)
    if not slow.are_there:
        return found
    shares = [[100 * slow_steps([run.total]).share for run in arm] for arm in (base, new)]
    means = [sum(arm) / len(arm) for arm in shares]
    differ = _differ(shares)
    found.append(
        Finding(
            "slow-steps",
            Severity.WARNING if differ else Severity.INFO,
            "the versions do not have equally many slow steps"
            if differ
            else f"single steps take {slow.factor:.1f} times as long as usual",
            f"{means[0]:.1f} % of the base's steps and {means[1]:.1f} % of the new version's, "
            f"{slow.factor:.1f} times as long as usual; the median of a run's steps is not moved "
            "by them",
            "--statistic mean counts them in",
        )
    )
    return found


def _differ(shares: Sequence[Sequence[float]]) -> bool:
    """Whether one version's runs have plainly more slow steps than the other's."""
    if min(len(arm) for arm in shares) < 2:
        return False
    apart = abs(float(np.mean(shares[1])) - float(np.mean(shares[0])))
    variance = sum(float(np.var(arm, ddof=1)) / len(arm) for arm in shares)
    return apart > 0 and apart > 4 * float(np.sqrt(variance))
