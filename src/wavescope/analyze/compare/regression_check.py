"""Repeated runs of two versions: is the new one slower? A verdict, and how sure it is.

docs/compare.md defines the test, its false alarm rate and the minimum detectable effect.
"""

from __future__ import annotations

import enum
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from wavescope.analyze.compare.renames import Rename
from wavescope.analyze.compare.run_values import FloatArray, RunValues
from wavescope.analyze.statistics.many_tests import holm
from wavescope.analyze.statistics.two_arms import Effect, TestOptions, effect_between, runs_needed
from wavescope.analyze.statistics.verdict import Verdict, verdict_of
from wavescope.model.result import (
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
)

FEWEST_RUNS_FOR_ANY_NOISE = 3


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
    test: TestOptions = field(default_factory=TestOptions)


@dataclass(frozen=True)
class _Tested:
    """A row of the result: the whole, or a kernel."""

    name: str
    effect: Effect
    adjusted_p: float | None
    verdict: Verdict


def only_in_one_arm(base: Sequence[RunValues], new: Sequence[RunValues]) -> bool:
    """Whether each arm has kernels that the other has not: some may have been renamed."""
    names = [{name for run in runs for name in run.kernel_ns} for runs in (base, new)]
    return bool(names[0] - names[1]) and bool(names[1] - names[0])


def check_regression(
    base: Sequence[RunValues],
    new: Sequence[RunValues],
    options: CheckOptions | None = None,
    renamed: Sequence[Rename] = (),
) -> tuple[Verdict, Result]:
    """The verdict, and tables `verdict`, `kernels` and `runs` that give the reasons.

    Renamed kernels are compared under their new name.
    """
    options = options or CheckOptions()
    base = [_with_new_names(run, {n: r.new for r in renamed for n in r.base}) for run in base]
    new = [_with_new_names(run, {n: r.new for r in renamed for n in r.new}) for run in new]
    total = effect_between([run.total for run in base], [run.total for run in new], options.test)
    noted = _noted_kernels(base, new, options.min_share_percent)
    names = [name for name in noted if _is_in(base, name) and _is_in(new, name)]
    effects = [
        effect_between(_kernel_runs(base, name), _kernel_runs(new, name), options.test)
        for name in names
    ]
    whole, kernels = _tested(total, names, effects, options)
    verdict = _overall(whole, kernels, options.gate)
    result = Result(
        f"Performance: {verdict.value}",
        [
            _effect_table("verdict", "Verdict", [whole]),
            _effect_table("kernels", "Kernels of note", kernels),
            _one_sided_table(base, new, [name for name in noted if name not in names], options),
            _run_table(base, new, options),
        ],
        _findings(verdict, whole, kernels, options),
        _facts(verdict, whole.effect, base, new, options),
    )
    return verdict, result


def _with_new_names(run: RunValues, names: Mapping[str, tuple[str, ...]]) -> RunValues:
    """The run with renamed kernels put together under what they are called now."""
    if not names:
        return run
    kernels: dict[str, FloatArray] = {}
    kernel_ns: dict[str, int] = {}
    for name, time_ns in run.kernel_ns.items():
        shown = " + ".join(names.get(name, (name,)))
        kernel_ns[shown] = kernel_ns.get(shown, 0) + time_ns
        if name in run.kernels:
            known = kernels.get(shown)
            kernels[shown] = run.kernels[name] if known is None else known + run.kernels[name]
    return replace(run, kernels=kernels, kernel_ns=kernel_ns)


def _is_in(runs: Sequence[RunValues], name: str) -> bool:
    return any(name in run.kernel_ns for run in runs)


def _noted_kernels(
    base: Sequence[RunValues], new: Sequence[RunValues], min_share_percent: float
) -> list[str]:
    """Kernels with a share of the time of all runs together: chosen before anything is compared."""
    totals: dict[str, int] = {}
    for run in (*base, *new):
        for name, time_ns in run.kernel_ns.items():
            totals[name] = totals.get(name, 0) + time_ns
    least = sum(totals.values()) * min_share_percent / 100
    noted = [name for name, time_ns in totals.items() if time_ns >= least and time_ns]
    return sorted(noted, key=lambda name: (-totals[name], name))


def _kernel_runs(runs: Sequence[RunValues], name: str) -> list[FloatArray]:
    return [run.kernels.get(name, np.zeros(1)) for run in runs]


def _tested(
    total: Effect, names: Sequence[str], effects: Sequence[Effect], options: CheckOptions
) -> tuple[_Tested, list[_Tested]]:
    """The whole and the kernels with p-values adjusted within their family.

    Where kernels decide too, the whole is one test among them, so that the false alarm rate of the
    verdict stays what it is said to be.
    """
    family = [total, *effects] if options.gate is Gate.KERNELS else list(effects)
    known = [effect.p_value for effect in family if effect.p_value is not None]
    adjusted = holm(known) if len(known) == len(family) else [None] * len(family)
    if options.gate is Gate.KERNELS:
        whole_p, adjusted = adjusted[0], adjusted[1:]
    else:
        whole_p = total.p_value
    significance, threshold = options.test.significance, options.threshold_percent
    whole = _Tested("all", total, whole_p, verdict_of(total, threshold, significance, whole_p))
    kernels = [
        _Tested(name, effect, p, verdict_of(effect, threshold, significance, p))
        for name, effect, p in zip(names, effects, adjusted, strict=True)
    ]
    return whole, kernels


def _overall(whole: _Tested, kernels: Sequence[_Tested], gate: Gate) -> Verdict:
    if gate is Gate.KERNELS and any(row.verdict is Verdict.REGRESSION for row in kernels):
        return Verdict.REGRESSION
    return whole.verdict


_EFFECT_COLUMNS = (
    ResultColumn("name", "What", Unit.NAME, "the metric as a whole, or a kernel"),
    ResultColumn("base_ns", "Base", Unit.NS, "geometric mean of the base runs, for one step"),
    ResultColumn("new_ns", "New", Unit.NS, "geometric mean of the new runs, for one step"),
    ResultColumn("change_percent", "Change %", Unit.PERCENT, "from base to new"),
    ResultColumn("low_percent", "Low %", Unit.PERCENT, "lower end of the confidence interval"),
    ResultColumn("high_percent", "High %", Unit.PERCENT, "upper end of the confidence interval"),
    ResultColumn("p_value", "p", meaning="chance of such a change without a cause; adjusted"),
    ResultColumn(
        "detectable_percent",
        "Detectable %",
        Unit.PERCENT,
        "smallest slow-down that runs like these find four times out of five",
    ),
    ResultColumn("run_noise_percent", "Run noise %", Unit.PERCENT, "deviation of runs of an arm"),
    ResultColumn("verdict", "Verdict", Unit.NAME, "pass, regression, improvement, inconclusive"),
)


def _effect_table(name: str, title: str, tested: Sequence[_Tested]) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (
            row.name,
            row.effect.base_value,
            row.effect.new_value,
            row.effect.change_percent,
            row.effect.low_percent,
            row.effect.high_percent,
            row.adjusted_p,
            row.effect.detectable_percent,
            row.effect.run_noise_percent,
            row.verdict.value,
        )
        for row in tested
    ]
    return ResultTable(name, title, _EFFECT_COLUMNS, rows)


_ONE_SIDED_COLUMNS = (
    ResultColumn("name", "Kernel", Unit.NAME, "kernel, copy or fill"),
    ResultColumn("status", "Status", Unit.NAME, "gone: only in base runs; new: only in new runs"),
    ResultColumn("value_ns", "Time", Unit.NS, "mean of the runs that have it, for one step"),
)


def _one_sided_table(
    base: Sequence[RunValues],
    new: Sequence[RunValues],
    names: Sequence[str],
    options: CheckOptions,
) -> ResultTable:
    """Kernels that one version does not have: nothing to test, but part of the whole."""
    rows: list[tuple[Value, ...]] = []
    for name in names:
        runs = base if _is_in(base, name) else new
        values = [options.test.statistic.of(run) for run in _kernel_runs(runs, name)]
        rows.append((name, "gone" if runs is base else "new", sum(values) / len(values)))
    return ResultTable("one_sided", "Kernels of one version only", _ONE_SIDED_COLUMNS, rows)


_RUN_COLUMNS = (
    ResultColumn("arm", "Arm", Unit.NAME, "base or new"),
    ResultColumn("path", "Path", Unit.NAME, "the trace"),
    ResultColumn("step_count", "Steps", Unit.COUNT, "steps that were compared"),
    ResultColumn("value_ns", "Value", Unit.NS, "the metric of the run, for one step"),
)


def _run_table(
    base: Sequence[RunValues], new: Sequence[RunValues], options: CheckOptions
) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (arm, run.path, run.step_count, options.test.statistic.of(run.total))
        for arm, runs in (("base", base), ("new", new))
        for run in runs
    ]
    return ResultTable("runs", "Runs", _RUN_COLUMNS, rows)


def _facts(
    verdict: Verdict,
    effect: Effect,
    base: Sequence[RunValues],
    new: Sequence[RunValues],
    options: CheckOptions,
) -> dict[str, Value]:
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
    }


def _step_words(base: Sequence[RunValues], new: Sequence[RunValues]) -> str:
    sources = {run.step_source for run in (*base, *new)}
    if sources == {""}:
        return "none: each run is one value"
    if "" in sources:
        return "only some runs have steps: the values are not alike"
    return ", ".join(sorted(sources))


def _findings(
    verdict: Verdict, whole: _Tested, kernels: Sequence[_Tested], options: CheckOptions
) -> list[Finding]:
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
