"""What recording costs: baseline beside each mode, with intervals, coverage and older versions."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np

from wavescope.analyze.compare.overhead.cost_findings import (
    command_findings,
    cost_findings,
    coverage_findings,
    told_apart,
)
from wavescope.analyze.compare.overhead.costs import (
    MetricChange,
    ModeCost,
    OverheadCheck,
    mode_costs,
    recorded_nothing,
)
from wavescope.analyze.compare.statistics.effects import Effect, TestOptions, effect_between
from wavescope.analyze.compare.statistics.verdicts import Verdict, verdict_of
from wavescope.errors import UsageError
from wavescope.model.overhead_runs import BASELINE, ArmRun, MetricKind, OverheadRuns, TraceFacts
from wavescope.model.result import (
    ColumnOf,
    Result,
    ResultColumn,
    ResultTable,
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
_CASE_TITLES = {"model": "Model", "tp": "TP", "conc": "Conc", "concurrency": "Concurrency"}


def overhead_result(
    runs: OverheadRuns,
    against: Sequence[OverheadRuns] = (),
    check: OverheadCheck | None = None,
    other_cases: Sequence[OverheadRuns] = (),
) -> Result:
    """Tables `overhead`, `modes`, with stored measurements `versions`, and `runs`.

    `other_cases` are further measurements of today, of other models or settings.
    """
    check = check or OverheadCheck()
    cases = [_Case(each, mode_costs(each, check)) for each in (runs, *other_cases)]
    if not all(case.costs for case in cases):
        raise UsageError("no round has both an unrecorded and a recorded run")
    _require_same_metric(runs, (*other_cases, *against))
    tables = [_overhead_table(cases), _mode_table(cases)]
    if against:
        tables.append(_version_table(cases, against, check))
    tables.append(_run_table(runs))
    findings = [
        finding
        for case in cases
        for finding in (
            *cost_findings(case.costs, check, runs.metric),
            *coverage_findings(case.runs, case.costs),
            *command_findings(case.runs, against),
        )
    ]
    return Result("Overhead of recording", tables, findings, _facts(runs, check))


class _Case(NamedTuple):
    """One measurement and what its modes cost."""

    runs: OverheadRuns
    costs: Sequence[ModeCost]

    @property
    def rows(self) -> list[_Measured]:
        return [_Measured(cost, self.runs) for cost in self.costs]


def _case_columns(measurements: Sequence[OverheadRuns]) -> list[ColumnOf[_Measured]]:
    """A column for each thing that cases are told by: model, ranks, concurrency."""
    keys = dict.fromkeys(key for each in measurements for key, _ in each.case)
    return [_case_column(key) for key in keys]


def _case_column(key: str) -> ColumnOf[_Measured]:
    title = _CASE_TITLES.get(key.lower(), key)
    return ResultColumn(f"case_{key}", title, Unit.NAME, f"what was measured: {key}").of(
        lambda row: dict(row.runs.case).get(key)
    )


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
    runs: OverheadRuns
    version: str = ""
    since_percent: float | None = None
    """How much slower recording became since that version."""
    since_verdict: str | None = None

    @property
    def change(self) -> MetricChange:
        return self.cost.metric_change(self.runs.metric)


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


def _overhead_table(cases: Sequence[_Case]) -> ResultTable:
    metric = cases[0].runs.metric
    columns = [
        *_case_columns([case.runs for case in cases]),
        _MODE_COLUMN,
        *_value_columns(metric),
        *_change_columns(metric),
        *_COST_COLUMNS,
    ]
    rows = [row for case in cases for row in case.rows]
    return table_of("overhead", "Overhead", columns, rows)


def _mode_table(cases: Sequence[_Case]) -> ResultTable:
    def facts(row: _Measured) -> list[TraceFacts]:
        of_mode = row.runs.of_arm(row.cost.mode)
        return [run.trace for run in of_mode if run.trace is not None]

    def median(name: str) -> Callable[[_Measured], int]:
        return lambda row: statistics.median_high([getattr(each, name) for each in facts(row)])

    def coverage_percent(row: _Measured) -> float | None:
        of_mode = facts(row)
        return percent_of(sum(each.timed for each in of_mode), sum(each.seen for each in of_mode))

    columns = [
        *_case_columns([case.runs for case in cases]),
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
        _overhead_column(cases[0].runs.metric),
    ]
    rows = [row for case in cases for row in case.rows if facts(row)]
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
    cases: Sequence[_Case], against: Sequence[OverheadRuns], check: OverheadCheck
) -> ResultTable:
    """Stored measurements in the order given, then today's; all modes of each."""
    today = [case.runs for case in cases]
    measurements = (*against, *today)
    rows = [
        _beside(today, _Measured(cost, measurement, label), check)
        for measurement, label in zip(measurements, told_apart(measurements), strict=True)
        for cost in mode_costs(measurement, check)
    ]
    columns = [
        _VERSION_COLUMN,
        *_case_columns(measurements),
        _MODE_COLUMN,
        *_value_columns(today[0].metric),
        *_change_columns(today[0].metric),
        *_SINCE_COLUMNS,
    ]
    return table_of("versions", "Versions and modes", columns, rows)


def _beside(today: Sequence[OverheadRuns], measured: _Measured, check: OverheadCheck) -> _Measured:
    """`measured`, of an earlier measurement, with what changed from it to today's of its case."""
    mode, earlier = measured.cost.mode, measured.runs
    now = next((runs for runs in today if runs.case == earlier.case), None)
    if now is None or earlier in today or mode not in now.modes:
        return measured
    if recorded_nothing(earlier, mode) or recorded_nothing(now, mode):
        return measured
    effect = _since(earlier, now, mode, check)
    verdict = verdict_of(effect, check.threshold_percent, check.significance)
    return measured._replace(since_percent=effect.change_percent, since_verdict=verdict.value)


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
        "case": ", ".join(f"{key} {value}" for key, value in runs.case) or None,
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
