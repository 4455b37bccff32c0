"""What a regression check says beside its verdict: tables and facts."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare.regression.run_values import CheckOptions, FloatArray, RunValues
from wavescope.analyze.compare.statistics.effects import Effect, runs_needed
from wavescope.analyze.compare.statistics.run_order import RunOrder
from wavescope.analyze.compare.statistics.step_noise import Statistic
from wavescope.analyze.compare.statistics.verdicts import Verdict, detectable_percent
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, Value, table_of
from wavescope.units import duration_text

_MOST_NAMED = 3


@dataclass(frozen=True)
class Tested:
    """A row of the result: the whole, or a kernel."""

    name: str
    effect: Effect
    adjusted_p: float | None
    verdict: Verdict
    detectable_percent: float | None = None
    """The smallest slow-down that would be called a regression four times out of five."""


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
    ).of(lambda row: row.detectable_percent),
    ResultColumn(
        "run_noise_percent",
        "Run noise %",
        Unit.PERCENT,
        "standard deviation between runs of one version",
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
    statistic: Statistic,
) -> ResultTable:
    """Kernels that one version does not have: nothing to test, but part of the whole."""
    rows = []
    for name in names:
        status, runs = ("gone", base) if is_in(base, name) else ("new", new)
        values = [statistic.of(run) for run in kernel_runs(runs, name)]
        rows.append(_OneSided(name, status, sum(values) / len(values)))
    return table_of("one_sided", "Kernels of one version only", _ONE_SIDED_COLUMNS, rows)


class _Run(NamedTuple):
    arm: str
    values: RunValues
    value_ns: float
    place: int


_RUN_COLUMNS: tuple[ColumnOf[_Run], ...] = (
    ResultColumn("arm", "Arm", Unit.NAME, "base or new").of(lambda row: row.arm),
    ResultColumn("path", "Path", Unit.NAME, "the trace").of(lambda row: row.values.path),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps that were compared").of(
        lambda row: row.values.step_count
    ),
    ResultColumn("value_ns", "Value", Unit.NS, "the metric of the run, for one step").of(
        lambda row: row.value_ns
    ),
    ResultColumn("place", "Place", meaning="in the order in which the runs were made").of(
        lambda row: row.place + 1
    ),
)


def run_table(
    base: Sequence[RunValues], new: Sequence[RunValues], order: RunOrder, statistic: Statistic
) -> ResultTable:
    """The value of every run."""
    rows = [
        _Run(arm, run, statistic.of(run.total), place)
        for arm, runs, places in (("base", base, order.base), ("new", new, order.new))
        for run, place in zip(runs, places, strict=True)
    ]
    return table_of("runs", "Runs", _RUN_COLUMNS, rows)


def facts(
    whole: Tested,
    kernels: Sequence[Tested],
    base: Sequence[RunValues],
    new: Sequence[RunValues],
    options: CheckOptions,
) -> dict[str, Value]:
    """What the verdict rests on, as single values."""
    effect = whole.effect
    return {
        "headline": _headline(whole, kernels, options.threshold_percent),
        "change_percent": effect.change_percent,
        "low_percent": effect.low_percent,
        "high_percent": effect.high_percent,
        "p_value": effect.p_value,
        "detectable_percent": detectable_percent(effect, options.threshold_percent),
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
        "statistic": effect.statistic.value,
        "allowance_percent": effect.allowance_percent,
        "trend_percent": effect.trend_percent,
    }


def _headline(whole: Tested, kernels: Sequence[Tested], threshold_percent: float) -> str:
    """One sentence: how much slower or faster, and the kernels that really changed most."""
    change_percent = whole.effect.change_percent
    if whole.verdict is Verdict.PASS:
        words = f"no slow-down of {threshold_percent:g} % or more ({change_percent:+.1f} %)"
    elif whole.verdict is Verdict.INCONCLUSIVE:
        words = (
            f"a slow-down of {threshold_percent:g} % is neither shown nor excluded "
            f"({change_percent:+.1f} %)"
        )
    else:
        slower = "longer" if change_percent > 0 else "less"
        words = f"the new version takes {abs(change_percent):.1f} % {slower}"
    changed = [
        (row.name, row.effect.new_value - row.effect.base_value)
        for row in kernels
        if row.verdict in (Verdict.REGRESSION, Verdict.IMPROVEMENT)
    ]
    changed.sort(key=lambda each: -abs(each[1]))
    named = [
        f"{name} {'+' if delta_ns > 0 else '-'}{duration_text(abs(delta_ns))}"
        for name, delta_ns in changed[:_MOST_NAMED]
    ]
    if not named:
        return words
    return f"{words}; kernels that really changed: {', '.join(named)}"


def _step_words(base: Sequence[RunValues], new: Sequence[RunValues]) -> str:
    sources = {run.step_source for run in (*base, *new)}
    return "none: each run is one value" if sources == {""} else ", ".join(sorted(sources))


def is_in(runs: Sequence[RunValues], name: str) -> bool:
    """Whether any run has the kernel."""
    return any(name in run.kernel_ns for run in runs)


def kernel_runs(runs: Sequence[RunValues], name: str) -> list[FloatArray]:
    """The kernel's time in the steps of each run; 0 where a run has none of it."""
    return [run.kernels.get(name, np.zeros(1)) for run in runs]
