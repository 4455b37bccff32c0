"""Repeated runs of two versions: is the new one slower? A verdict, and how sure it is.

docs/compare.md defines the test, its false alarm rate and the minimum detectable effect.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from wavescope.analyze.compare.figures import coverage_findings
from wavescope.analyze.compare.regression.check_findings import (
    findings,
    order_findings,
    outside_findings,
    step_findings,
)
from wavescope.analyze.compare.regression.check_tables import (
    Tested,
    effect_table,
    facts,
    is_in,
    kernel_runs,
    one_sided_table,
    run_table,
)
from wavescope.analyze.compare.regression.run_values import (
    MOST_OUTSIDE_PERCENT,
    CheckOptions,
    FloatArray,
    Gate,
    Per,
    RunValues,
)
from wavescope.analyze.compare.renames import Rename
from wavescope.analyze.compare.statistics.effects import Effect, effect_between
from wavescope.analyze.compare.statistics.run_order import run_order
from wavescope.analyze.compare.statistics.unusual_steps import warm_up_steps
from wavescope.analyze.compare.statistics.verdicts import (
    Verdict,
    detectable_percent,
    holm,
    verdict_of,
)
from wavescope.errors import UsageError
from wavescope.model.result import Result


def may_be_renamed(base: Sequence[RunValues], new: Sequence[RunValues]) -> bool:
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
    if _is_per_run((*base, *new), options.per):
        base, new = [run.as_one_step() for run in base], [run.as_one_step() for run in new]
    base, new, warm_up = _without_warm_up(base, new, options)
    order = run_order(
        [run.recorded_at_ns for run in base], [run.recorded_at_ns for run in new], options.order
    )
    base = [_with_new_names(run, {n: r.new for r in renamed for n in r.base}) for run in base]
    new = [_with_new_names(run, {n: r.new for r in renamed for n in r.new}) for run in new]
    total = effect_between(
        [run.total for run in base], [run.total for run in new], options.test, order
    )
    noted = _noted_kernels(base, new, options.min_share_percent)
    names = [name for name in noted if is_in(base, name) and is_in(new, name)]
    effects = [
        effect_between(kernel_runs(base, name), kernel_runs(new, name), options.test, order)
        for name in names
    ]
    whole, kernels = _tested(total, names, effects, options)
    verdict = _overall(whole, kernels, options.gate)
    result = Result(
        f"Performance: {verdict.value}",
        [
            effect_table("verdict", "Verdict", [whole]),
            effect_table("kernels", "Kernels of note", sorted(kernels, key=_urgency)),
            one_sided_table(
                base, new, [name for name in noted if name not in names], total.statistic
            ),
            run_table(base, new, order, total.statistic),
        ],
        [
            *findings(verdict, whole, kernels, options),
            *order_findings(whole, order, options),
            *step_findings(base, new, warm_up),
            *outside_findings((*base, *new)),
            *coverage_findings([run.coverage_percent for run in (*base, *new)]),
        ],
        {
            "verdict": verdict.value,
            **facts(whole, kernels, base, new, options),
            "order": order.words,
            "order_source": order.source or "assumed",
            "warm_up_steps": warm_up,
        },
    )
    return verdict, result


def _is_per_run(runs: Sequence[RunValues], per: Per) -> bool:
    """Whether runs are compared as a whole rather than by step."""
    without = [run.path for run in runs if not run.step_source]
    if per is Per.STEP and without:
        raise UsageError(f"no steps were found in {without[0]}", hint="--step REGEX names them")
    outside_percent = max(run.outside_percent for run in runs)
    return (
        per is Per.RUN
        or bool(without)
        or (per is Per.AUTO and outside_percent > MOST_OUTSIDE_PERCENT)
    )


def _without_warm_up(
    base: Sequence[RunValues], new: Sequence[RunValues], options: CheckOptions
) -> tuple[Sequence[RunValues], Sequence[RunValues], int]:
    """The runs without the steps of their warm-up, and how many these are."""
    if options.runs.skip_steps is not None:
        return base, new, 0
    count = warm_up_steps([run.total for run in (*base, *new)])
    if not count:
        return base, new, 0
    return (
        [run.without_first(count) for run in base],
        [run.without_first(count) for run in new],
        count,
    )


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


def _noted_kernels(
    base: Sequence[RunValues], new: Sequence[RunValues], min_share_percent: float
) -> list[str]:
    """Kernels with a share of the time of all runs together: chosen before anything is compared."""
    totals: dict[str, float] = {}
    for run in (*base, *new):
        for name, values in run.kernels.items():
            totals[name] = totals.get(name, 0.0) + float(values.mean()) * run.step_count
    least = sum(totals.values()) * min_share_percent / 100
    noted = [name for name, time_ns in totals.items() if time_ns >= least and time_ns]
    return sorted(noted, key=lambda name: (-totals[name], name))


def _tested(
    total: Effect, names: Sequence[str], effects: Sequence[Effect], options: CheckOptions
) -> tuple[Tested, list[Tested]]:
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

    def tested(name: str, effect: Effect, p_value: float | None) -> Tested:
        verdict = verdict_of(effect, threshold, significance, p_value)
        return Tested(name, effect, p_value, verdict, detectable_percent(effect, threshold))

    kernels = [tested(*each) for each in zip(names, effects, adjusted, strict=True)]
    return tested("all", total, whole_p), kernels


def _urgency(row: Tested) -> int:
    """What has changed comes first, the slower before the faster."""
    changed = (Verdict.REGRESSION, Verdict.IMPROVEMENT)
    return changed.index(row.verdict) if row.verdict in changed else len(changed)


def _overall(whole: Tested, kernels: Sequence[Tested], gate: Gate) -> Verdict:
    if gate is Gate.KERNELS and any(row.verdict is Verdict.REGRESSION for row in kernels):
        return Verdict.REGRESSION
    return whole.verdict
