"""What a regression check says beside its verdict: tables, facts and findings."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare.effects import Effect, Verdict, runs_needed
from wavescope.analyze.compare.run_values import (
    FEWEST_RUNS_FOR_ANY_NOISE,
    MOST_OUTSIDE_PERCENT,
    CheckOptions,
    FloatArray,
    RunValues,
)
from wavescope.model.result import (
    ColumnOf,
    Finding,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
    table_of,
)


@dataclass(frozen=True)
class Tested:
    """A row of the result: the whole, or a kernel."""

    name: str
    effect: Effect
    adjusted_p: float | None
    verdict: Verdict


_EFFECT_COLUMNS: tuple[ColumnOf[Tested], ...] = (
    ResultColumn("name", "What", Unit.NAME, "the metric as a whole, or a kernel").of(
        lambda row: row.name
    ),
    ResultColumn("base_ns", "Base", Unit.NS, "geometric mean of the base runs, for one step").of(
        lambda row: row.effect.base_value
    ),
    ResultColumn("new_ns", "New", Unit.NS, "geometric mean of the new runs, for one step").of(
        lambda row: row.effect.new_value
    ),
    ResultColumn("change_percent", "Change %", Unit.PERCENT, "from base to new").of(
        lambda row: row.effect.change_percent
    ),
    ResultColumn("low_percent", "Low %", Unit.PERCENT, "lower end of the confidence interval").of(
        lambda row: row.effect.low_percent
    ),
    ResultColumn("high_percent", "High %", Unit.PERCENT, "upper end of the confidence interval").of(
        lambda row: row.effect.high_percent
    ),
    ResultColumn("p_value", "p", meaning="chance of such a change without a cause; adjusted").of(
        lambda row: row.adjusted_p
    ),
    ResultColumn(
        "detectable_percent",
        "Detectable %",
        Unit.PERCENT,
        "smallest slow-down that runs like these find four times out of five",
    ).of(lambda row: row.effect.detectable_percent),
    ResultColumn(
        "run_noise_percent", "Run noise %", Unit.PERCENT, "deviation of runs of an arm"
    ).of(lambda row: row.effect.run_noise_percent),
    ResultColumn("verdict", "Verdict", Unit.NAME, "pass, regression, improvement, inconclusive").of(
        lambda row: row.verdict.value
    ),
)


def effect_table(name: str, title: str, tested: Sequence[Tested]) -> ResultTable:
    """The effects with their intervals and verdicts."""
    return table_of(name, title, _EFFECT_COLUMNS, tested)


class _OneSided(NamedTuple):
    name: str
    status: str
    value_ns: float


_ONE_SIDED_COLUMNS: tuple[ColumnOf[_OneSided], ...] = (
    ResultColumn("name", "Kernel", Unit.NAME, "kernel, copy or fill").of(lambda row: row.name),
    ResultColumn(
        "status", "Status", Unit.NAME, "gone: only in base runs; new: only in new runs"
    ).of(lambda row: row.status),
    ResultColumn("value_ns", "Time", Unit.NS, "mean of the runs that have it, for one step").of(
        lambda row: row.value_ns
    ),
)


def one_sided_table(
    base: Sequence[RunValues],
    new: Sequence[RunValues],
    names: Sequence[str],
    options: CheckOptions,
) -> ResultTable:
    """Kernels that one version does not have: nothing to test, but part of the whole."""
    rows = []
    for name in names:
        status, runs = ("gone", base) if is_in(base, name) else ("new", new)
        values = [options.test.statistic.of(run) for run in kernel_runs(runs, name)]
        rows.append(_OneSided(name, status, sum(values) / len(values)))
    return table_of("one_sided", "Kernels of one version only", _ONE_SIDED_COLUMNS, rows)


class _Run(NamedTuple):
    arm: str
    values: RunValues
    value_ns: float


_RUN_COLUMNS: tuple[ColumnOf[_Run], ...] = (
    ResultColumn("arm", "Arm", Unit.NAME, "base or new").of(lambda row: row.arm),
    ResultColumn("path", "Path", Unit.NAME, "the trace").of(lambda row: row.values.path),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps that were compared").of(
        lambda row: row.values.step_count
    ),
    ResultColumn("value_ns", "Value", Unit.NS, "the metric of the run, for one step").of(
        lambda row: row.value_ns
    ),
)


def run_table(
    base: Sequence[RunValues], new: Sequence[RunValues], options: CheckOptions
) -> ResultTable:
    """The value of every run."""
    rows = [
        _Run(arm, run, options.test.statistic.of(run.total))
        for arm, runs in (("base", base), ("new", new))
        for run in runs
    ]
    return table_of("runs", "Runs", _RUN_COLUMNS, rows)


def facts(
    verdict: Verdict,
    effect: Effect,
    base: Sequence[RunValues],
    new: Sequence[RunValues],
    options: CheckOptions,
) -> dict[str, Value]:
    """The verdict and what it rests on, as single values."""
    return {
        "verdict": verdict.value,
        "change_percent": effect.change_percent,
        "low_percent": effect.low_percent,
        "high_percent": effect.high_percent,
        "p_value": effect.p_value,
        "detectable_percent": effect.detectable_percent,
        "threshold_percent": options.threshold_percent,
        "significance": options.test.significance,
        "gate": options.gate.value,
        "run_noise_percent": effect.run_noise_percent,
        "step_noise_percent": effect.step_noise_percent,
        "base_run_count": len(base),
        "new_run_count": len(new),
        "runs_needed": runs_needed(effect, options.threshold_percent, options.test.significance),
        "steps": _step_words(base, new),
        "outside_percent": max(run.outside_percent for run in (*base, *new)),
    }


def _step_words(base: Sequence[RunValues], new: Sequence[RunValues]) -> str:
    sources = {run.step_source for run in (*base, *new)}
    return "none: each run is one value" if sources == {""} else ", ".join(sorted(sources))


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
    if verdict is Verdict.INCONCLUSIVE:
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
    if whole.effect.is_known and min(counts) < FEWEST_RUNS_FOR_ANY_NOISE:
        found.append(
            Finding(
                "few-runs",
                Severity.INFO,
                "with so few runs the verdict rests on noise that is bell-shaped",
                f"{counts[0]} base and {counts[1]} new runs; where runs fall into two groups, two "
                "of each may lie in different groups by chance",
                "record at least three runs of each",
            )
        )
    return found


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
            f"record {needed} runs of each, or longer ones"
            if needed
            else "make the runs quieter: fixed clocks, an idle machine, longer runs"
        )
    return Finding("noise-too-large", Severity.WARNING, "the noise hides it", evidence, advice)


def _interval(effect: Effect) -> str:
    if effect.low_percent is None or effect.high_percent is None:
        return "unknown"
    return f"{effect.low_percent:+.1f} % to {effect.high_percent:+.1f} %"


def is_in(runs: Sequence[RunValues], name: str) -> bool:
    """Whether any run has the kernel."""
    return any(name in run.kernel_ns for run in runs)


def kernel_runs(runs: Sequence[RunValues], name: str) -> list[FloatArray]:
    """The kernel's time in the steps of each run; 0 where a run has none of it."""
    return [run.kernels.get(name, np.zeros(1)) for run in runs]
