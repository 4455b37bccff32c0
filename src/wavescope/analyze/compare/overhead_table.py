"""What recording costs: baseline beside each mode, with intervals, coverage and older versions.

The cost of a mode is the geometric mean over rounds of (time recorded / time alone), less one; for
a metric such as tokens per second, time is its reciprocal. docs/overhead-validation.md has it all.
"""

from __future__ import annotations

import statistics
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from wavescope.analyze.compare.effects import (
    Effect,
    TestOptions,
    Verdict,
    effect_between,
    holm,
    paired_effect,
    pairs_needed,
    verdict_of,
)
from wavescope.errors import UsageError
from wavescope.model.overhead_runs import BASELINE, WALL, MetricKind, OverheadRuns
from wavescope.model.result import (
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
)

COST_WORDS = {
    Verdict.PASS: "free",
    Verdict.REGRESSION: "costs",
    Verdict.IMPROVEMENT: "faster",
    Verdict.INCONCLUSIVE: "unclear",
}
"""What the verdict on a mode's cost is called; docs/overhead-validation.md explains the words."""


@dataclass(frozen=True)
class OverheadCheck:
    """How sure statements must be, and what cost does not matter."""

    threshold_percent: float = 1.0
    significance: float = 0.05


@dataclass(frozen=True)
class ModeCost:
    """What one mode costs in one measurement."""

    mode: str
    effect: Effect
    """Of time: an increase is a cost."""
    baseline: float
    """The metric without recording."""
    traced: float
    verdict: Verdict

    def metric_change(self, metric: MetricKind) -> tuple[float | None, float | None, float | None]:
        """The change of the metric in percent, and both ends of its interval."""
        effect = self.effect
        if not metric.higher_is_better:
            return effect.change_percent, effect.low_percent, effect.high_percent
        return (
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
    known = [effect.p_value for _, effect, _, _ in measured if effect.p_value is not None]
    adjusted = iter(holm(known))
    costs = []
    for mode, effect, alone_center, recorded_center in measured:
        p_value = next(adjusted) if effect.is_known else None
        verdict = verdict_of(effect, check.threshold_percent, check.significance, p_value)
        costs.append(ModeCost(mode, effect, alone_center, recorded_center, verdict))
    return costs


def _center(values: Sequence[float]) -> float:
    return statistics.geometric_mean(values)


def overhead_result(
    runs: OverheadRuns,
    against: Sequence[OverheadRuns] = (),
    check: OverheadCheck | None = None,
) -> Result:
    """Tables `overhead`, `modes`, with stored measurements `versions`, and `runs`."""
    check = check or OverheadCheck()
    costs = mode_costs(runs, check)
    if not costs:
        raise UsageError("no round has both a run alone and a recorded one")
    _require_same_metric(runs, against)
    tables = [_overhead_table(runs, costs), _mode_table(runs, costs)]
    if against:
        tables.append(_version_table(runs, against, check))
    tables.append(_run_table(runs))
    findings = [
        *_cost_findings(costs, check, runs.metric),
        *_coverage_findings(runs, costs),
        *_command_findings(runs, against),
    ]
    return Result("Overhead of recording", tables, findings, _facts(runs, check))


def _require_same_metric(runs: OverheadRuns, against: Sequence[OverheadRuns]) -> None:
    for other in against:
        if (other.metric.name, other.metric.higher_is_better) != (
            runs.metric.name,
            runs.metric.higher_is_better,
        ):
            raise UsageError(
                f"'{other.label}' measured {other.metric.name}, this is {runs.metric.name}",
                hint="measurements of one metric can be compared",
            )


def _value_columns(metric: MetricKind) -> tuple[ResultColumn, ResultColumn]:
    unit = Unit.NS if metric.is_time else Unit.NONE
    what = f"{metric.name} time" if metric.is_time else metric.unit or "metric"
    suffix = "_ns" if metric.is_time else ""
    return (
        ResultColumn(f"baseline{suffix}", f"Baseline{_bracket(metric)}", unit, f"{what} alone"),
        ResultColumn(f"traced{suffix}", f"Recorded{_bracket(metric)}", unit, f"{what} recorded"),
    )


def _bracket(metric: MetricKind) -> str:
    return f" ({metric.unit})" if metric.unit and not metric.is_time else ""


_MODE_COLUMN = ResultColumn("mode", "Mode", Unit.NAME, "recording mode")
_CHANGE_COLUMNS = (
    ResultColumn(
        "overhead_percent", "Overhead %", Unit.PERCENT, "change of the metric from the baseline"
    ),
    ResultColumn("low_percent", "Low %", Unit.PERCENT, "lower end of its interval"),
    ResultColumn("high_percent", "High %", Unit.PERCENT, "upper end of its interval"),
)


def _overhead_table(runs: OverheadRuns, costs: Sequence[ModeCost]) -> ResultTable:
    columns = (
        _MODE_COLUMN,
        *_value_columns(runs.metric),
        *_CHANGE_COLUMNS,
        ResultColumn("cost_percent", "Slower %", Unit.PERCENT, "how much longer it takes"),
        ResultColumn("rounds", "Rounds", Unit.COUNT, "pairs of runs compared"),
        ResultColumn(
            "detectable_percent",
            "Detectable %",
            Unit.PERCENT,
            "smallest cost that so many rounds find four times out of five",
        ),
        ResultColumn("verdict", "Verdict", Unit.NAME, "free, costs, faster or unclear"),
    )
    rows: list[tuple[Value, ...]] = [
        (
            cost.mode,
            cost.baseline,
            cost.traced,
            *cost.metric_change(runs.metric),
            cost.effect.change_percent,
            cost.effect.base_run_count,
            cost.effect.detectable_percent,
            COST_WORDS[cost.verdict],
        )
        for cost in costs
    ]
    return ResultTable("overhead", "Overhead", columns, rows)


def _mode_table(runs: OverheadRuns, costs: Sequence[ModeCost]) -> ResultTable:
    columns = (
        _MODE_COLUMN,
        ResultColumn("op_count", "Ops", Unit.COUNT, "ops in the trace, median of the runs"),
        ResultColumn("kernel_count", "Kernels", Unit.COUNT, "different kernel names"),
        ResultColumn("seen", "Seen", Unit.COUNT, "dispatches that passed the recorder"),
        ResultColumn("timed", "Timed", Unit.COUNT, "of these, recorded with times"),
        ResultColumn("coverage_percent", "Coverage %", Unit.PERCENT, "timed / seen"),
        ResultColumn("size_bytes", "Trace", Unit.BYTES, "size of the trace file"),
        _CHANGE_COLUMNS[0],
    )
    rows: list[tuple[Value, ...]] = []
    for cost in costs:
        facts = [run.trace for run in runs.of_arm(cost.mode) if run.trace is not None]
        if not facts:
            continue
        medians = [
            statistics.median_high([getattr(fact, name) for fact in facts])
            for name in ("op_count", "kernel_count", "seen", "timed", "size_bytes")
        ]
        seen, timed = sum(fact.seen for fact in facts), sum(fact.timed for fact in facts)
        coverage = 100 * timed / seen if seen else None
        rows.append(
            (cost.mode, *medians[:4], coverage, medians[4], cost.metric_change(runs.metric)[0])
        )
    return ResultTable("modes", "What each mode records", columns, rows)


def _version_table(
    runs: OverheadRuns, against: Sequence[OverheadRuns], check: OverheadCheck
) -> ResultTable:
    """Stored measurements in the order given, then this one; all modes of each."""
    columns = (
        ResultColumn("version", "Version", Unit.NAME, "label of the measurement"),
        _MODE_COLUMN,
        *_value_columns(runs.metric),
        *_CHANGE_COLUMNS,
        ResultColumn(
            "change_percent", "Since then %", Unit.PERCENT, "how much slower recording became"
        ),
        ResultColumn("verdict", "Verdict", Unit.NAME, "on what changed since then"),
    )
    rows: list[tuple[Value, ...]] = []
    measurements = (*against, runs)
    for measurement, label in zip(measurements, _told_apart(measurements), strict=True):
        for cost in mode_costs(measurement, check):
            since: tuple[Value, Value] = (None, None)
            if measurement is not runs and cost.mode in runs.modes:
                effect = _since(measurement, runs, cost.mode, check)
                verdict = verdict_of(effect, check.threshold_percent, check.significance)
                since = (effect.change_percent, verdict.value)
            rows.append(
                (
                    label,
                    cost.mode,
                    cost.baseline,
                    cost.traced,
                    *cost.metric_change(runs.metric),
                    *since,
                )
            )
    return ResultTable("versions", "Versions and modes", columns, rows)


def _told_apart(measurements: Sequence[OverheadRuns]) -> list[str]:
    """Labels; where several measurements share one, with the time of each, then with a number."""
    labels = [each.label for each in measurements]
    dated = [
        f"{each.label} ({each.recorded_at})"
        if labels.count(each.label) > 1 and each.recorded_at
        else each.label
        for each in measurements
    ]
    return [
        f"{label} #{dated[:place].count(label) + 1}" if dated.count(label) > 1 else label
        for place, label in enumerate(dated)
    ]


def _since(old: OverheadRuns, new: OverheadRuns, mode: str, check: OverheadCheck) -> Effect:
    """How the cost of a mode changed: the rounds' ratios of both measurements as two arms."""
    arms = []
    for measurement in (old, new):
        ratios = [recorded.value / alone.value for alone, recorded in measurement.pairs(mode)]
        if measurement.metric.higher_is_better:
            ratios = [1 / ratio for ratio in ratios]
        arms.append([np.array([ratio]) for ratio in ratios])
    return effect_between(arms[0], arms[1], TestOptions(check.significance))


_ARM_COLUMNS = (
    ResultColumn("round", "Round", meaning="runs of one round are compared"),
    ResultColumn("arm", "Arm", Unit.NAME, "baseline or recording mode"),
)


def _run_table(runs: OverheadRuns) -> ResultTable:
    printed = (ResultColumn("value", f"Value{_bracket(runs.metric)}", meaning="what it printed"),)
    columns = (
        *_ARM_COLUMNS,
        *(() if runs.metric.is_time else printed),
        ResultColumn("wall_ns", "Wall", Unit.NS, "wall time of the program"),
        ResultColumn("cpu_ns", "CPU", Unit.NS, "CPU time of it and what it started"),
    )
    rows: list[tuple[Value, ...]] = []
    for run in runs.runs:
        value = () if runs.metric.is_time else (run.value,)
        rows.append((run.round, run.arm, *value, run.wall_ns, run.cpu_ns))
    return ResultTable("runs", "Runs in the order they were made", columns, rows)


def _facts(runs: OverheadRuns, check: OverheadCheck) -> dict[str, Value]:
    return {
        "label": runs.label,
        "command": runs.command,
        "metric": runs.metric.name,
        "higher_is_better": runs.metric.higher_is_better,
        "round_count": len(runs.of_arm(BASELINE)),
        "threshold_percent": check.threshold_percent,
        "significance": check.significance,
        "wavescope_version": runs.wavescope_version,
        "recorded_at": runs.recorded_at,
        "softgpu": runs.softgpu,
    }


def _cost_findings(
    costs: Sequence[ModeCost], check: OverheadCheck, metric: MetricKind
) -> list[Finding]:
    found = [
        Finding(
            "recording-costs",
            Severity.WARNING,
            f"mode {cost.mode} makes the program {cost.effect.change_percent:.1f} % slower",
            f"interval {_span(cost.effect)}, p {cost.effect.p_value or 0:.2g}",
            "use a lighter mode, or record a part: --delay, --duration, --kernel",
            cost.mode,
        )
        for cost in costs
        if cost.verdict is Verdict.REGRESSION
    ]
    unclear = [cost for cost in costs if cost.verdict is Verdict.INCONCLUSIVE]
    if unclear:
        found.append(_unclear(unclear, check, metric))
    return found


def _unclear(costs: Sequence[ModeCost], check: OverheadCheck, metric: MetricKind) -> Finding:
    needed = [
        pairs_needed(cost.effect, check.threshold_percent, check.significance) for cost in costs
    ]
    most = max((count for count in needed if count), default=0)
    if not all(cost.effect.is_known for cost in costs):
        advice = "one round says nothing about the noise: --rounds 5"
    elif most and all(needed):
        advice = f"--rounds {most}, longer runs or a quieter machine"
    else:
        advice = "make the runs longer or the machine quieter"
        advice += "; --metric cpu is less disturbed" if metric.name == WALL else ""
    return Finding(
        "overhead-unclear",
        Severity.INFO,
        f"neither shown to be free nor to cost {check.threshold_percent:g} %: "
        f"{', '.join(cost.mode for cost in costs)}",
        "; ".join(f"{cost.mode} {_span(cost.effect)}" for cost in costs),
        advice,
    )


def _span(effect: Effect) -> str:
    if effect.low_percent is None or effect.high_percent is None:
        return "unknown"
    return f"{effect.low_percent:+.1f} % to {effect.high_percent:+.1f} % of time"


def _coverage_findings(runs: OverheadRuns, costs: Sequence[ModeCost]) -> list[Finding]:
    """A mode that records nothing is free: the figure must not be read as praise."""
    found = []
    for cost in costs:
        facts = [run.trace for run in runs.of_arm(cost.mode) if run.trace is not None]
        if facts and not any(fact.op_count for fact in facts):
            found.append(
                Finding(
                    "nothing-recorded",
                    Severity.PROBLEM,
                    f"mode {cost.mode} recorded no op in any run",
                    "what costs nothing because it does nothing is not free",
                    "`wavescope doctor` says what recording needs here",
                    cost.mode,
                )
            )
    return found


def _command_findings(runs: OverheadRuns, against: Sequence[OverheadRuns]) -> list[Finding]:
    labels = _told_apart((*against, runs))
    others = [
        f"{label}: {other.command}"
        for label, other in zip(labels, against, strict=False)
        if (other.command, other.softgpu) != (runs.command, runs.softgpu)
    ]
    if not others:
        return []
    return [
        Finding(
            "other-program",
            Severity.WARNING,
            "the stored measurements are of another program",
            "; ".join(others),
            "compare measurements of one command on one machine",
        )
    ]
