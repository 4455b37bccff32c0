"""Several traces beside each other: models by metrics, or versions of one program in order.

The first trace is what the others are compared with. Differences are of single recordings: whether
one is more than noise is for `wavescope compare` with repeated runs to say.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.page.trace_report import TraceReport
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.units import percent_of

_MOST_KERNELS = 300
_LEAST_PERCENT = 0.1
_PHASES = ("prefill", "decode")


class Metric(NamedTuple):
    """A figure of each trace; None where a trace does not tell."""

    name: str
    title: str
    unit: Unit
    meaning: str
    values: list[float | None]
    is_better_high: bool = False


class Trends(NamedTuple):
    """The traces' metrics in order, and the tables made of them."""

    labels: list[str]
    metrics: list[Metric]
    result: Result


def trends(labels: Sequence[str], reports: Sequence[TraceReport]) -> Trends:
    """Tables `figures`, `regressions` and `kernel_changes` of the traces called `labels`."""
    metrics = [metric for metric in _metrics(reports) if _is_told(metric)]
    tables = [
        _figure_table(labels, reports, metrics),
        _regression_table(labels, metrics),
        _kernel_table(labels, reports),
    ]
    return Trends(list(labels), metrics, Result("Traces", tables))


def _is_told(metric: Metric) -> bool:
    """Whether any trace has it, and not next to nothing in all."""
    least = _LEAST_PERCENT if metric.unit is Unit.PERCENT else 1
    return any(value is not None and value >= least for value in metric.values)


def _metrics(reports: Sequence[TraceReport]) -> list[Metric]:
    def fact(name: str) -> list[float | None]:
        return [_real(report.summary.facts.get(name)) for report in reports]

    def share_of_span(column: str) -> list[float | None]:
        return [_span_percent(report, column) for report in reports]

    found = [
        Metric(
            "span_ns", "Span", Unit.NS, "first start to last end of GPU work", fact("gpu_span_ns")
        ),
        Metric("gpu_time_ns", "GPU time", Unit.NS, "durations added up", fact("gpu_time_ns")),
        Metric(
            "busy_percent",
            "Busy %",
            Unit.PERCENT,
            "time with any op running / span of each GPU",
            fact("busy_percent"),
            is_better_high=True,
        ),
    ]
    found += [
        Metric(
            f"{phase}_ns",
            f"{phase.capitalize()} compute",
            Unit.NS,
            f"durations in {phase} without collectives",
            [_phase_compute_ns(report, phase) for report in reports],
        )
        for phase in _PHASES
    ]
    found += [
        Metric(
            "decode_step_ns",
            "Decode step",
            Unit.NS,
            "median, start to start, of the queue with most steps",
            [report.decode_step_ns for report in reports],
        ),
        Metric(
            "exposed_communication_percent",
            "Exposed comm %",
            Unit.PERCENT,
            "collectives that no compute hid / span",
            share_of_span("exposed_communication_ns"),
        ),
        Metric(
            "exposed_copy_percent",
            "Exposed copies %",
            Unit.PERCENT,
            "copies that nothing hid / span",
            share_of_span("exposed_copy_ns"),
        ),
        Metric("idle_percent", "Idle %", Unit.PERCENT, "idle / span", share_of_span("idle_ns")),
        Metric(
            "coverage_percent",
            "Coverage %",
            Unit.PERCENT,
            "dispatches timed / seen; empty where the trace does not say",
            [_coverage_percent(report) for report in reports],
            is_better_high=True,
        ),
    ]
    return found


def _figure_table(
    labels: Sequence[str], reports: Sequence[TraceReport], metrics: Sequence[Metric]
) -> ResultTable:
    columns = (
        ResultColumn("trace", "Trace", Unit.NAME, "label or file name"),
        ResultColumn("gpu_model", "GPU", Unit.NAME, "product or chip, where the trace says so"),
        ResultColumn("mode", "Mode", Unit.NAME, "how it was recorded"),
        ResultColumn("gpu_count", "GPUs", Unit.COUNT, "GPUs with at least one op"),
        ResultColumn("op_count", "Ops", Unit.COUNT, "kernels, copies, fills and barriers"),
        ResultColumn("kernel_name_count", "Kernels", Unit.COUNT, "different kernel names"),
        *(ResultColumn(m.name, m.title, m.unit, m.meaning) for m in metrics),
    )
    rows: list[tuple[Value, ...]] = [
        (
            label,
            _gpu_models(report),
            _metadata(report).get("mode"),
            report.summary.facts.get("gpu_count"),
            report.overview.facts.get("op_count"),
            report.overview.facts.get("kernel_name_count"),
            *(metric.values[number] for metric in metrics),
        )
        for number, (label, report) in enumerate(zip(labels, reports, strict=True))
    ]
    return ResultTable("figures", "Traces by metrics", columns, rows)


def _regression_table(labels: Sequence[str], metrics: Sequence[Metric]) -> ResultTable:
    """Each trace in order: its times, and their change from the first and from the one before."""
    timed = [metric for metric in metrics if metric.unit is Unit.NS]
    columns = [ResultColumn("trace", "Trace", Unit.NAME, "label or file name")]
    for metric in timed:
        columns += [
            ResultColumn(metric.name, metric.title, metric.unit, metric.meaning),
            ResultColumn(
                f"{metric.name}_from_first_change_percent",
                "to first %",
                Unit.PERCENT,
                "change from the first trace",
            ),
            ResultColumn(
                f"{metric.name}_from_previous_change_percent",
                "to prev. %",
                Unit.PERCENT,
                "change from the trace before",
            ),
        ]
    rows: list[tuple[Value, ...]] = []
    for number, label in enumerate(labels):
        row: list[Value] = [label]
        for metric in timed:
            value = metric.values[number]
            bases = (metric.values[0], metric.values[number - 1]) if number else (None, None)
            row += [value, *(change_percent(base, value) for base in bases)]
        rows.append(tuple(row))
    return ResultTable("regressions", "From trace to trace", tuple(columns), rows)


def change_percent(base: float | None, value: float | None) -> float | None:
    """By how much `value` differs from `base`, in percent of it."""
    return None if not base or value is None else 100 * (value - base) / base


def _kernel_table(labels: Sequence[str], reports: Sequence[TraceReport]) -> ResultTable:
    """The mean duration of each kernel in each trace, those with most time in any first."""
    tables = [
        {str(row["name"]): row for row in report.summary.table("kernels").records()}
        for report in reports
    ]
    largest: dict[str, float] = {}
    for table in tables:
        for name, row in table.items():
            largest[name] = max(largest.get(name, 0), _real(row["total_ns"]) or 0)
    names = sorted(largest, key=lambda name: (-largest[name], name))
    columns = (
        ResultColumn("name", "Kernel", Unit.NAME, "kernel, or type of a copy or fill"),
        *(
            ResultColumn(f"mean_{number}_ns", label, Unit.NS, "mean duration in that trace")
            for number, label in enumerate(labels, 1)
        ),
        ResultColumn("mean_change_percent", "Last to first %", Unit.PERCENT, "change of the mean"),
        ResultColumn(
            "total_change_percent", "Total %", Unit.PERCENT, "change of the summed durations"
        ),
    )
    rows: list[tuple[Value, ...]] = []
    for name in names[:_MOST_KERNELS]:
        means = [_real(table[name]["mean_ns"]) if name in table else None for table in tables]
        totals = [_real(table[name]["total_ns"]) if name in table else None for table in tables]
        changes = [change_percent(values[0], values[-1]) for values in (means, totals)]
        rows.append((name, *means, *changes))
    return ResultTable("kernel_changes", "Mean duration of kernels", columns, rows, len(names))


def _phase_compute_ns(report: TraceReport, phase: str) -> float | None:
    found = [each.compute_ns for each in report.phases if each.phase.lower() == phase]
    return float(sum(found)) if found else None


def _span_percent(report: TraceReport, column: str) -> float | None:
    rows = report.summary.table("gpus").records()
    spans = sum(_real(row["span_ns"]) or 0 for row in rows)
    return percent_of(sum(_real(row[column]) or 0 for row in rows), spans)


def _coverage_percent(report: TraceReport) -> float | None:
    table = next((table for table in report.summary.tables if table.name == "coverage"), None)
    if table is None:
        return None
    seen, timed = (
        sum(_real(value) or 0 for value in table.column(key)) for key in ("seen", "timed")
    )
    return percent_of(timed, seen)


def _gpu_models(report: TraceReport) -> str | None:
    table = next((table for table in report.overview.tables if table.name == "gpus"), None)
    if table is None:
        return None
    models = [str(row["model"] or row["chip"] or "") for row in table.records()]
    return ", ".join(dict.fromkeys(filter(None, models))) or None


def _metadata(report: TraceReport) -> dict[str, str]:
    table = next((table for table in report.overview.tables if table.name == "metadata"), None)
    return {} if table is None else {str(tag): str(value) for tag, value in table.rows}


def _real(value: Value) -> float | None:
    return value if isinstance(value, int | float) else None
