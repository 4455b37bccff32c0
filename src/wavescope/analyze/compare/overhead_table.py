"""What recording costs: baseline beside each mode, with intervals, coverage and older versions."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare.effects import Effect, TestOptions, effect_between, pairs_needed
from wavescope.analyze.compare.overhead_costs import (
    MetricChange,
    ModeCost,
    OverheadCheck,
    mode_costs,
    recorded_nothing,
)
from wavescope.analyze.compare.verdicts import Verdict, verdict_of
from wavescope.errors import UsageError
from wavescope.model.overhead_runs import BASELINE, WALL, ArmRun, MetricKind, OverheadRuns
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.units import percent_of

COST_WORDS = {
    Verdict.PASS: "free",
    Verdict.REGRESSION: "costs",
    Verdict.IMPROVEMENT: "faster",
    Verdict.INCONCLUSIVE: "unclear",
}
"""What the verdict on a mode's cost is called; docs/overhead-validation.md explains the words."""
NOTHING_RECORDED = "nothing recorded"


def overhead_result(
    runs: OverheadRuns,
    against: Sequence[OverheadRuns] = (),
    check: OverheadCheck | None = None,
) -> Result:
    """Tables `overhead`, `modes`, with stored measurements `versions`, and `runs`."""
    check = check or OverheadCheck()
    costs = mode_costs(runs, check)
    if not costs:
        raise UsageError("no round has both an unrecorded and a recorded run")
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
                hint="only measurements of one metric can be compared",
            )


class _Measured(NamedTuple):
    """The cost of a mode with the metric it was measured by, as a row of several tables."""

    cost: ModeCost
    metric: MetricKind
    version: str = ""
    since_percent: float | None = None
    """How much slower recording became since that version."""
    since_verdict: str | None = None

    @property
    def change(self) -> MetricChange:
        return self.cost.metric_change(self.metric)


def _value_columns(metric: MetricKind) -> tuple[ColumnOf[_Measured], ...]:
    unit = Unit.NS if metric.is_time else Unit.NONE
    what = f"{metric.name} time" if metric.is_time else metric.unit or "metric"
    suffix = "_ns" if metric.is_time else ""
    return (
        ResultColumn(f"baseline{suffix}", f"Baseline{_bracket(metric)}", unit, f"{what} alone").of(
            lambda row: row.cost.baseline
        ),
        ResultColumn(f"traced{suffix}", f"Recorded{_bracket(metric)}", unit, f"{what} recorded").of(
            lambda row: row.cost.traced
        ),
    )


def _bracket(metric: MetricKind) -> str:
    return f" ({metric.unit})" if metric.unit and not metric.is_time else ""


_MODE_COLUMN: ColumnOf[_Measured] = ResultColumn("mode", "Mode", Unit.NAME, "recording mode").of(
    lambda row: row.cost.mode
)


def _overhead_column(metric: MetricKind) -> ColumnOf[_Measured]:
    """Of a rate the change is no overhead: more of it is less."""
    title = f"{metric.unit or 'Rate'} %" if metric.higher_is_better else "Overhead %"
    return ResultColumn(
        "overhead_percent", title, Unit.PERCENT, "change of the metric from the baseline"
    ).of(lambda row: row.change.percent)


def _change_columns(metric: MetricKind) -> tuple[ColumnOf[_Measured], ...]:
    return (
        _overhead_column(metric),
        ResultColumn("low_percent", "Low %", Unit.PERCENT, "lower end of its interval").of(
            lambda row: row.change.low_percent
        ),
        ResultColumn("high_percent", "High %", Unit.PERCENT, "upper end of its interval").of(
            lambda row: row.change.high_percent
        ),
    )


_COST_COLUMNS: tuple[ColumnOf[_Measured], ...] = (
    ResultColumn("cost_percent", "Slower %", Unit.PERCENT, "how much longer it takes").of(
        lambda row: row.cost.effect.change_percent
    ),
    ResultColumn("rounds", "Rounds", Unit.COUNT, "pairs of runs compared").of(
        lambda row: row.cost.effect.base_run_count
    ),
    ResultColumn(
        "detectable_percent",
        "Detectable %",
        Unit.PERCENT,
        "smallest cost that so many rounds find four times out of five",
    ).of(lambda row: row.cost.effect.detectable_percent),
    ResultColumn(
        "verdict", "Verdict", Unit.NAME, "free, costs, faster, unclear or nothing recorded"
    ).of(
        lambda row: NOTHING_RECORDED if row.cost.verdict is None else COST_WORDS[row.cost.verdict]
    ),
)


def _overhead_table(runs: OverheadRuns, costs: Sequence[ModeCost]) -> ResultTable:
    columns = [
        _MODE_COLUMN,
        *_value_columns(runs.metric),
        *_change_columns(runs.metric),
        *_COST_COLUMNS,
    ]
    rows = [_Measured(cost, runs.metric) for cost in costs]
    return table_of("overhead", "Overhead", columns, rows)


def _mode_table(runs: OverheadRuns, costs: Sequence[ModeCost]) -> ResultTable:
    facts = {
        cost.mode: [run.trace for run in runs.of_arm(cost.mode) if run.trace is not None]
        for cost in costs
    }

    def median(name: str) -> Callable[[_Measured], int]:
        return lambda row: statistics.median_high(
            [getattr(each, name) for each in facts[row.cost.mode]]
        )

    def coverage_percent(row: _Measured) -> float | None:
        of_mode = facts[row.cost.mode]
        return percent_of(sum(each.timed for each in of_mode), sum(each.seen for each in of_mode))

    columns = [
        _MODE_COLUMN,
        ResultColumn("op_count", "Ops", Unit.COUNT, "ops in the trace, median of the runs").of(
            median("op_count")
        ),
        ResultColumn("kernel_count", "Kernels", Unit.COUNT, "different kernel names").of(
            median("kernel_count")
        ),
        ResultColumn("seen", "Seen", Unit.COUNT, "dispatches that passed the recorder").of(
            median("seen")
        ),
        ResultColumn("timed", "Timed", Unit.COUNT, "of these, recorded with times").of(
            median("timed")
        ),
        ResultColumn("coverage_percent", "Coverage %", Unit.PERCENT, "timed / seen").of(
            coverage_percent
        ),
        ResultColumn("size_bytes", "Trace", Unit.BYTES, "size of the trace file").of(
            median("size_bytes")
        ),
        _overhead_column(runs.metric),
    ]
    rows = [_Measured(cost, runs.metric) for cost in costs if facts[cost.mode]]
    return table_of("modes", "What each mode records", columns, rows)


_VERSION_COLUMN: ColumnOf[_Measured] = ResultColumn(
    "version", "Version", Unit.NAME, "label of the measurement"
).of(lambda row: row.version)
_SINCE_COLUMNS: tuple[ColumnOf[_Measured], ...] = (
    ResultColumn(
        "change_percent", "Since then %", Unit.PERCENT, "how much slower recording became"
    ).of(lambda row: row.since_percent),
    ResultColumn("verdict", "Verdict", Unit.NAME, "on what changed since then").of(
        lambda row: row.since_verdict
    ),
)


def _version_table(
    runs: OverheadRuns, against: Sequence[OverheadRuns], check: OverheadCheck
) -> ResultTable:
    """Stored measurements in the order given, then this one; all modes of each."""
    measurements = (*against, runs)
    rows = [
        _beside(runs, _Measured(cost, runs.metric, label), measurement, check)
        for measurement, label in zip(measurements, _told_apart(measurements), strict=True)
        for cost in mode_costs(measurement, check)
    ]
    columns = [
        _VERSION_COLUMN,
        _MODE_COLUMN,
        *_value_columns(runs.metric),
        *_change_columns(runs.metric),
        *_SINCE_COLUMNS,
    ]
    return table_of("versions", "Versions and modes", columns, rows)


def _beside(
    runs: OverheadRuns, measured: _Measured, measurement: OverheadRuns, check: OverheadCheck
) -> _Measured:
    """`measured`, of an earlier measurement, with what changed from it to `runs`."""
    mode = measured.cost.mode
    if measurement is runs or mode not in runs.modes:
        return measured
    if recorded_nothing(measurement, mode) or recorded_nothing(runs, mode):
        return measured
    effect = _since(measurement, runs, mode, check)
    verdict = verdict_of(effect, check.threshold_percent, check.significance)
    return measured._replace(since_percent=effect.change_percent, since_verdict=verdict.value)


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


def _run_table(runs: OverheadRuns) -> ResultTable:
    columns: list[ColumnOf[ArmRun]] = [
        ResultColumn("round", "Round", meaning="runs of one round are compared").of(
            lambda run: run.round
        ),
        ResultColumn("arm", "Arm", Unit.NAME, "baseline or recording mode").of(lambda run: run.arm),
        ResultColumn("value", f"Value{_bracket(runs.metric)}", meaning="what it printed").of(
            lambda run: run.value
        ),
        ResultColumn("wall_ns", "Wall", Unit.NS, "wall time of the program").of(
            lambda run: run.wall_ns
        ),
        ResultColumn("cpu_ns", "CPU", Unit.NS, "CPU time of it and what it started").of(
            lambda run: run.cpu_ns
        ),
    ]
    if runs.metric.is_time:
        columns = [each for each in columns if each.column.name != "value"]
    return table_of("runs", "Runs in the order they were made", columns, runs.runs)


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
    return [
        Finding(
            "nothing-recorded",
            Severity.PROBLEM,
            f"mode {cost.mode} recorded no op in any run",
            "what costs nothing because it does nothing is not free",
            "`wavescope doctor` says what recording needs here",
            cost.mode,
        )
        for cost in costs
        if recorded_nothing(runs, cost.mode)
    ]


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
