"""Compares workloads with a baseline: differences of unrounded values, aligned by metric.

The same quantity has different ids on different chips; rows are paired by table and key.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from wavescope.analyze.counters.choice import wants
from wavescope.analyze.counters.metric_values import needs_text
from wavescope.analyze.counters.panels import MetricRow, MetricTable
from wavescope.analyze.counters.report import Analysis, CounterOptions, analysis_result
from wavescope.model.counters import CounterTable
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value

_COMPARED = ("avg", "value", "median")
"""The statistic of a row that is compared: the first of these that its table has."""


def comparison_result(analyses: Sequence[Analysis], options: CounterOptions) -> Result:
    """Tables of the baseline's metrics with each other workload's value and difference."""
    base, *others = analyses
    names = ["baseline", *(f"run {place}" for place in range(2, len(analyses) + 1))]
    named = list(zip(names, analyses, strict=True))
    tables = [_compared_table(table, others) for table in base.tables if not table.is_per_channel]
    if wants(base.blocks, "0.1") or base.blocks:
        tables.insert(0, _kernel_table([analysis.selected for analysis in analyses]))
    findings = [
        found._replace(title=f"{name}: {found.title}")
        for name, analysis in named
        for found in analysis_result(analysis, options).findings
    ]
    facts: dict[str, Value] = {
        name: f"{analysis.workload.path} ({analysis.workload.chip})" for name, analysis in named
    }
    facts["normal_unit"] = options.normal_unit.value
    facts["aggregation"] = options.aggregation.value
    return Result("Counter comparison", tables, findings, facts)


def difference(base: float | None, value: float | None) -> tuple[float | None, float | None]:
    """The absolute difference and the same in percent of the baseline."""
    if base is None or value is None:
        return None, None
    change = value - base
    return change, 100 * change / abs(base) if base else None


def _columns(count: int, title: str) -> tuple[ResultColumn, ...]:
    columns = [
        ResultColumn("id", "ID", Unit.NAME),
        ResultColumn("metric", title, Unit.NAME),
        ResultColumn("baseline", "baseline"),
    ]
    for run in range(2, count + 2):
        columns += [
            ResultColumn(f"run_{run}", f"run {run}"),
            ResultColumn(f"difference_{run}", "difference", Unit.NONE, f"run {run} - baseline"),
            ResultColumn(f"percent_{run}", "percent", Unit.NONE, "of the baseline"),
        ]
    columns += [
        ResultColumn("unit", "Unit"),
        ResultColumn("key", "key", Unit.NONE, "the metric's name on all chips"),
        ResultColumn("note", "note", Unit.NONE, "why a value is not there"),
    ]
    return tuple(columns)


def _compared_table(table: MetricTable, others: Sequence[Analysis]) -> ResultTable:
    rows_of_others = [
        {row.key: row for other in analysis.tables if other.id == table.id for row in other.rows}
        for analysis in others
    ]
    found: list[tuple[Value, ...]] = []
    for row in table.rows:
        base = _compared(row)
        cells: list[Value] = []
        notes = [f"baseline {row.note}"] if row.note and base is None else []
        for run, rows in enumerate(rows_of_others, 2):
            other = rows.get(row.key)
            value = _compared(other) if other else None
            cells += [value, *difference(base, value)]
            if value is None:
                reason = other.note if other else needs_text([row.key])
                notes.append(f"run {run} {reason}")
            elif base == 0:
                notes.append(f"percent {run} N/A: the baseline is 0")
        found.append((row.id, row.name, base, *cells, row.unit, row.key, "; ".join(notes) or None))
    columns = _columns(len(others), "Metric")
    return ResultTable(table.id, f"{table.id} {table.title}", columns, found)


def _compared(row: MetricRow) -> float | None:
    return next((row.values[name] for name in _COMPARED if name in row.values), None)


def _kernel_table(workloads: Sequence[CounterTable]) -> ResultTable:
    """Mean duration of each kernel of the baseline in every workload."""
    means = [_mean_durations(workload) for workload in workloads]
    base, others = means[0], means[1:]
    rows: list[tuple[Value, ...]] = []
    for place, (kernel, mean) in enumerate(base.items()):
        cells: list[Value] = []
        notes = []
        for run, other in enumerate(others, 2):
            value = other.get(kernel)
            cells += [value, *difference(mean, value)]
            if value is None:
                notes.append(f"run {run} N/A: it does not launch this kernel")
        rows.append(
            (f"0.1.{place}", kernel, mean, *cells, "ns", "kernel_time", "; ".join(notes) or None)
        )
    columns = _columns(len(others), "Kernel")
    return ResultTable("0.1", "0.1 Top Kernels: mean duration", columns, rows)


def _mean_durations(workload: CounterTable) -> dict[str, float]:
    """By kernel, the one with most time first."""
    spans = np.nan_to_num(workload.durations_ns)
    count = len(workload.kernel_names)
    totals = np.bincount(workload.kernel_codes, weights=spans, minlength=count)
    calls = np.bincount(workload.kernel_codes, minlength=count)
    order = np.argsort(-totals, kind="stable")
    return {
        workload.kernel_names[code]: float(totals[code] / calls[code])
        for code in order.tolist()
        if calls[code]
    }
