"""The whole analysis of a workload: panels, top kernels, system, roofline, findings.

Workloads are compared by the differences of unrounded values, aligned by metric: the same quantity
has different ids on different chips, so rows are paired by table and key.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from wavescope.analyze.counters.bound_findings import bound_findings
from wavescope.analyze.counters.catalogue import Catalogue
from wavescope.analyze.counters.choice import chosen_blocks, chosen_rows, wants
from wavescope.analyze.counters.measured import Aggregation, Measured, NormalUnit
from wavescope.analyze.counters.metric_values import MetricValues, needs_text
from wavescope.analyze.counters.panels import MetricRow, MetricTable, filled_tables
from wavescope.analyze.counters.roofline import roofline_tables
from wavescope.analyze.counters.sanity_findings import sanity_findings
from wavescope.analyze.counters.workload_tables import (
    SampleOrder,
    dispatch_list,
    multiplexed_counters,
    multiplexing_table,
    pc_samples,
    system_info,
    top_kernels,
)
from wavescope.model.counters import CounterTable
from wavescope.model.result import Result, ResultColumn, ResultTable, Severity, Unit, Value

TITLES = {
    "avg": "Avg",
    "min": "Min",
    "max": "Max",
    "std": "Std Dev",
    "peak": "Peak",
    "percent_of_peak": "Percent of Peak",
    "value": "Value",
    "q1": "Q1",
    "median": "Median",
    "q3": "Q3",
}

SAMPLES = "21.1"
"""The table of sampled program counters."""


@dataclass(frozen=True)
class CounterOptions:
    """What to look at and how values are formed; empty filters mean everything."""

    blocks: tuple[str, ...] = ()
    kernels: tuple[str, ...] = ()
    dispatches: tuple[str, ...] = ()
    gpus: tuple[str, ...] = ()
    normal_unit: NormalUnit = NormalUnit.PER_KERNEL
    aggregation: Aggregation = Aggregation.RATIO_OF_SUMS
    sample_order: SampleOrder = SampleOrder.COUNT
    kernel: str = ""
    """A regular expression that is found somewhere in the names of kernels."""

    def __post_init__(self) -> None:
        """Words such as `per_wave` stand for what they name."""
        words = ("normal_unit", NormalUnit), ("aggregation", Aggregation)
        for name, kind in (*words, ("sample_order", SampleOrder)):
            object.__setattr__(self, name, kind(getattr(self, name)))


@dataclass
class Analysis:
    """The metrics of one workload and what they were computed from."""

    workload: CounterTable
    """All dispatches, whatever was chosen."""
    chosen: NDArray[np.bool_]
    values: MetricValues
    tables: list[MetricTable]
    blocks: frozenset[str] | None

    @property
    def selected(self) -> CounterTable:
        """The dispatches that the metrics are about."""
        return self.values.measured.table


def analyzed(workload: CounterTable, catalogue: Catalogue, options: CounterOptions) -> Analysis:
    """The metrics of `workload` that `options` asks for."""
    blocks = chosen_blocks(catalogue, options.blocks)
    if not workload.count:  # only program counters were sampled
        blocks = frozenset({SAMPLES})
    chosen = chosen_rows(
        workload, options.kernels, options.dispatches, options.gpus, options.kernel
    )
    measured = Measured(workload.rows(chosen), catalogue, options.aggregation)
    values = MetricValues(measured, options.normal_unit)
    tables = filled_tables(catalogue.panels, values, blocks)
    return Analysis(workload, chosen, values, tables, blocks)


def analysis_result(analysis: Analysis, options: CounterOptions) -> Result:
    """The tables and findings in the order of their ids."""
    tables = _other_tables(analysis, options)
    tables += [metric_result_table(table) for table in analysis.tables]
    tables.sort(key=lambda table: [int(part) for part in table.name.split(".")])
    with np.errstate(all="ignore"):
        checks = sanity_findings(analysis.values, analysis.blocks)
        bounds = bound_findings(analysis.values)
    asides = [finding for finding in checks if finding.severity is Severity.INFO]
    findings = [*(each for each in checks if each not in asides), *bounds, *asides]
    return Result("Counter analysis", tables, findings, _facts(analysis, options))


def stats_result(workload: CounterTable) -> Result:
    """Only the kernels and dispatches, with the ids that filters take."""
    everything = np.ones(workload.count, dtype=np.bool_)
    tables = [top_kernels(workload, everything), dispatch_list(workload, everything)]
    return Result("Counter workload", tables, facts=_workload_facts(workload))


def metric_result_table(table: MetricTable) -> ResultTable:
    """A panel's table in the form that all commands print."""
    columns = [
        ResultColumn("id", "ID", Unit.NAME),
        ResultColumn("metric", "Channel" if table.is_per_channel else "Metric", Unit.NAME),
        *(ResultColumn(name, TITLES.get(name, name)) for name in table.columns),
        ResultColumn("unit", "Unit"),
        ResultColumn("key", "key", Unit.NONE, "the metric's name on all chips"),
        ResultColumn("note", "note", Unit.NONE, "why a value is not there"),
    ]
    rows: list[tuple[Value, ...]] = [
        (
            row.id,
            row.name,
            *(row.values.get(name) for name in table.columns),
            row.unit,
            row.key,
            row.note or None,
        )
        for row in table.rows
    ]
    return ResultTable(table.id, f"{table.id} {table.title}", tuple(columns), rows)


def _other_tables(analysis: Analysis, options: CounterOptions) -> list[ResultTable]:
    """The tables that are made of other things than metrics."""
    blocks, workload = analysis.blocks, analysis.workload
    tables = []
    if wants(blocks, "0.1") or blocks:
        tables.append(top_kernels(workload, analysis.chosen))
    if wants(blocks, "0.2"):
        tables.append(dispatch_list(workload, analysis.chosen))
    if workload.multiplexed:
        tables.append(multiplexing_table(workload))
        if blocks and "0.4" in blocks:  # long: a row for each counter of each kernel
            tables.append(multiplexed_counters(workload))
    if wants(blocks, "1.1"):
        tables.append(system_info(workload))
    if wants(blocks, "4.1") or wants(blocks, "4.2"):
        tables += [table for table in roofline_tables(analysis.values) if wants(blocks, table.name)]
    if wants(blocks, SAMPLES) and (workload.pc_samples or blocks):
        names = analysis.selected.kernel_names
        chosen = frozenset(names[code] for code in set(analysis.selected.kernel_codes.tolist()))
        kernels = chosen if options.kernels or options.kernel else None
        tables.append(pc_samples(workload, options.sample_order, kernels))
    return tables


def _workload_facts(workload: CounterTable) -> dict[str, Value]:
    return {
        "path": workload.path,
        "workload": workload.system.get("workload_name") or None,
        "chip": workload.chip,
        "model": workload.system.get("gpu_model") or None,
        "kernel_count": len(workload.kernel_names),
        "dispatch_count": workload.count,
    }


def _facts(analysis: Analysis, options: CounterOptions) -> dict[str, Value]:
    facts = _workload_facts(analysis.workload)
    selected = analysis.selected
    if selected.count != analysis.workload.count:
        facts["selected_dispatch_count"] = selected.count
    facts["time_ns"] = float(np.nan_to_num(selected.durations_ns).sum())
    facts["normal_unit"] = options.normal_unit.value
    facts["aggregation"] = options.aggregation.value
    return facts


_PERCENTAGES = frozenset({"%", "pct", "percent"})
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
            ResultColumn(
                f"percent_{run}",
                "percent",
                Unit.NONE,
                "difference / baseline; empty for percentages, whose difference is in points",
            ),
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
        is_percentage = row.unit.lower() in _PERCENTAGES
        cells: list[Value] = []
        notes = [f"baseline {row.note}"] if row.note and base is None else []
        for run, rows in enumerate(rows_of_others, 2):
            other = rows.get(row.key)
            value = _compared(other) if other else None
            change, percent = difference(base, value)
            cells += [value, change, None if is_percentage else percent]
            if value is None:
                reason = other.note if other else needs_text([row.key])
                notes.append(f"run {run} {reason}")
            elif is_percentage:
                notes.append(f"percent {run} N/A: of a percentage the difference is in points")
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
