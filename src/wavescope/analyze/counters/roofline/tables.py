"""Panel 4: the roofline as tables, rates beside their peaks and the points of the plot."""

from __future__ import annotations

from wavescope.analyze.counters.catalogue import Catalogue, Metric, definitions
from wavescope.analyze.counters.metric_values import MetricValues
from wavescope.analyze.counters.roofline.plot import (
    DEFAULT_PLOT,
    Ceiling,
    MemoryLevel,
    Roofline,
    RooflineOptions,
    roofline,
)
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value

_RATE_COLUMNS = (
    ResultColumn("id", "ID", Unit.NAME),
    ResultColumn("metric", "Metric", Unit.NAME),
    ResultColumn("value", "Value", Unit.NONE, "of all chosen dispatches"),
    ResultColumn("peak", "Peak", Unit.NONE, "measured by a benchmark, else computed"),
    ResultColumn("percent_of_peak", "Percent of Peak"),
    ResultColumn("unit", "Unit"),
    ResultColumn("source", "peak from", Unit.NONE),
    ResultColumn("note", "note", Unit.NONE, "why a value is not there"),
)
_POINT_COLUMNS = (
    ResultColumn("id", "ID", Unit.NAME),
    ResultColumn("metric", "Kernel", Unit.NAME),
    ResultColumn("ai_hbm", "AI HBM", Unit.NONE, "FLOP for each byte"),
    ResultColumn("ai_l2", "AI L2"),
    ResultColumn("ai_vl1d", "AI vL1D"),
    ResultColumn("ai_lds", "AI LDS"),
    ResultColumn("performance", "Performance", Unit.NONE, "GFLOP/s"),
    ResultColumn("unit", "Unit"),
    ResultColumn("note", "note", Unit.NONE, "why a value is not there"),
)


def roofline_result(
    values: MetricValues, plotted: Roofline, options: RooflineOptions = DEFAULT_PLOT
) -> Result:
    """Tables 4.1 and 4.2 of a workload, and what could not be had for its plot."""
    table = values.measured.table
    facts: dict[str, Value] = {
        "path": table.path,
        "chip": table.chip,
        "dispatch_count": table.count,
    }
    if plotted.notes:
        facts["notes"] = "; ".join(plotted.notes)
    return Result("Roofline", roofline_tables(values, options), facts=facts)


def roofline_tables(
    values: MetricValues, options: RooflineOptions = DEFAULT_PLOT
) -> list[ResultTable]:
    """Table 4.1, rates beside their peaks, and table 4.2, the points of the plot.

    They have all levels and types, whatever is drawn.
    """
    whole = RooflineOptions(kind=options.kind, most_points=options.most_points)
    result = roofline(values, whole)
    rows: list[tuple[Value, ...]] = []
    for place, ceiling in enumerate(result.ceilings):
        metric = _metric_of(values.measured.catalogue, ceiling)
        value = values.single(metric) if metric else None
        average = value.statistics["avg"] if value else None
        rows.append(
            (
                f"4.1.{place}",
                f"{ceiling.name} bandwidth" if ceiling.is_bandwidth else ceiling.name,
                average,
                ceiling.value,
                100 * average / ceiling.value if average is not None else None,
                ceiling.unit,
                "benchmark" if ceiling.measured else "clocks",
                (value.reason if value else "N/A: not counted by type") or None,
            )
        )
    return [ResultTable("4.1", "4.1 Roofline Rates", _RATE_COLUMNS, rows), _point_table(result)]


def _point_table(result: Roofline) -> ResultTable:
    note = "; ".join(note for note in result.notes if "N/A" in note) or None
    rows: list[tuple[Value, ...]] = [
        (
            f"4.2.{place}",
            point.name,
            *(point.intensity.get(level) for level in MemoryLevel),
            point.performance,
            "FLOP/B, GFLOP/s",
            note,
        )
        for place, point in enumerate(result.points)
    ]
    if not rows:
        rows = [("4.2.0", "none", None, None, None, None, None, "", note or "N/A")]
    return ResultTable("4.2", "4.2 Roofline Plot Points", _POINT_COLUMNS, rows)


def _metric_of(catalogue: Catalogue, ceiling: Ceiling) -> Metric | None:
    """The metric that a ceiling limits."""
    facts = definitions("roofline.toml")
    if ceiling.level is MemoryLevel.HBM:
        moved = facts["level"][ceiling.level.value]["bytes"]
        return Metric("hbm_traffic", "GB/s", f"({moved}) / duration", "")
    if ceiling.level is not None:
        return catalogue.metrics[facts["level"][ceiling.level.value]["metric"]]
    if ceiling.name.startswith("MFMA"):
        return catalogue.metrics.get(facts["matrix"][ceiling.data_type]["metric"])
    counted = facts["vector"][ceiling.data_type].get("operations")
    return Metric(counted, "GFLOP/s", f"64[FLOP] * {counted} / duration", "") if counted else None
