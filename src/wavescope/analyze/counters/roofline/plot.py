"""The roofline of a workload: how many operations kernels do for each byte, and what the chip can.

docs/roofline.md gives the formulas. Ceilings are the measured ones of roofline.csv; what was not
measured comes from the chip's clocks and is marked as computed. Panel 4 has the same as tables.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.counters.catalogue import Catalogue, Metric, definitions
from wavescope.analyze.counters.expression import expression_text, parsed, without_terms
from wavescope.analyze.counters.expression_value import Array, Scope, evaluated
from wavescope.analyze.counters.measured import KernelScope, Measured
from wavescope.analyze.counters.metric_values import MetricValues, needs_text
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value


class MemoryLevel(str, enum.Enum):
    """A level of the memory hierarchy that bytes are counted at."""

    HBM = "HBM"
    L2 = "L2"
    VL1D = "vL1D"
    LDS = "LDS"


class PointKind(str, enum.Enum):
    """What a point of the plot stands for."""

    KERNELS = "kernels"
    DISPATCHES = "dispatches"


class Ceiling(NamedTuple):
    """A limit of the chip: a bandwidth in GB/s, or a rate in GFLOP/s (GIOP/s for integers)."""

    name: str
    level: MemoryLevel | None
    data_type: str
    value: float
    measured: bool

    @property
    def is_bandwidth(self) -> bool:
        """Whether it limits bytes rather than operations."""
        return self.level is not None

    @property
    def unit(self) -> str:
        """The unit of its value: operations on integers are no FLOPs."""
        if self.is_bandwidth:
            return "GB/s"
        integers = [name.startswith("I") for name in self.data_type.split(", ")]
        return "GIOP/s" if all(integers) else "GOP/s" if any(integers) else "GFLOP/s"


class RoofPoint(NamedTuple):
    """A kernel or dispatch: operations for each byte at each level, and its rate."""

    name: str
    calls: int
    time_ns: float
    operations: float
    performance: float
    """GFLOP/s"""
    intensity: dict[MemoryLevel, float]
    bytes: dict[MemoryLevel, float]


class Roofline(NamedTuple):
    """Ceilings and points of one workload; `notes` say what could not be had."""

    chip: str
    device: int
    ceilings: tuple[Ceiling, ...]
    points: tuple[RoofPoint, ...]
    notes: tuple[str, ...]
    not_drawn: str = ""
    """Why some of the kernels or dispatches, or all, have no place in the plot."""

    def rate_lines(self) -> list[Ceiling]:
        """The rates, those of equal value as one line: 'MFMA FP16, MFMA BF16'."""
        alike: dict[float, list[Ceiling]] = {}
        for ceiling in self.ceilings:
            if not ceiling.is_bandwidth:
                alike.setdefault(ceiling.value, []).append(ceiling)
        return [
            group[0]._replace(
                name=", ".join(each.name for each in group),
                data_type=", ".join(each.data_type for each in group),
            )
            for group in alike.values()
        ]


@dataclass(frozen=True)
class RooflineOptions:
    """What is drawn: the points with most time, under the roofs of these levels and types."""

    levels: tuple[MemoryLevel, ...] = tuple(MemoryLevel)
    data_types: tuple[str, ...] = ()
    """None means all that the chip has."""
    kind: PointKind = PointKind.KERNELS
    most_points: int = 10

    def __post_init__(self) -> None:
        """Words such as `dispatches` stand for what they name."""
        object.__setattr__(self, "kind", PointKind(self.kind))
        object.__setattr__(self, "levels", tuple(map(MemoryLevel, self.levels)))


DEFAULT_PLOT = RooflineOptions()


def roofline(values: MetricValues, options: RooflineOptions = DEFAULT_PLOT) -> Roofline:
    """The roofline of the chosen dispatches."""
    measured = values.measured
    ceilings = list(_ceilings(values, options.levels, options.data_types))
    points, notes, placeable = _points(measured, options)
    if not any(ceiling.measured for ceiling in ceilings):
        notes.append("no roofline.csv: ceilings are computed from the chip's clocks")
    device = int(measured.table.measured_peaks.get("device", 0))
    return Roofline(
        measured.table.chip,
        device,
        tuple(ceilings),
        tuple(points),
        tuple(notes),
        _not_drawn(measured, points, options) if placeable else notes[0],
    )


def _not_drawn(measured: Measured, points: Sequence[RoofPoint], options: RooflineOptions) -> str:
    """Which of the kernels or dispatches that were looked at have no place, by reason."""
    of_kernels = options.kind is PointKind.KERNELS
    count = len(measured.table.kernel_names) if of_kernels else measured.table.count
    count = min(count, options.most_points)
    working = [point for point in points if point.performance > 0]
    moving = [point for point in working if any(each > 0 for each in point.intensity.values())]
    lost = (
        (count - len(points), "without a duration"),
        (len(points) - len(working), "without floating-point operations"),
        (len(working) - len(moving), "without bytes at these levels"),
    )
    told = [f"{number} {_noun(options.kind, number)} {words}" for number, words in lost if number]
    if not told:
        return ""
    head = f"{count - len(moving)} of {count} are not drawn" if moving else "no point is drawn"
    return f"{head}: {', '.join(told)}"


def _noun(kind: PointKind, number: int) -> str:
    return kind.value if number > 1 else {"kernels": "kernel", "dispatches": "dispatch"}[kind.value]


def _ceilings(
    values: MetricValues, levels: Iterable[MemoryLevel], data_types: Sequence[str]
) -> Iterable[Ceiling]:
    peaks, catalogue = values.measured.table.measured_peaks, values.measured.catalogue
    facts = definitions("roofline.toml")
    for level in levels:
        value, measured = _limit(values, peaks, facts["level"][level.value])
        if value:
            yield Ceiling(level.value, level, "", value, measured)
    for name in data_types or catalogue.data_types:
        for unit, known in (("VALU", facts["vector"]), ("MFMA", facts["matrix"])):
            fact = dict(known.get(name, {}))
            if unit == "MFMA" and not catalogue.has_matrix_units:
                fact.pop("metric", None)
            value, measured = _limit(values, peaks, fact)
            if value:
                yield Ceiling(f"{unit} {name}", None, name, value, measured)


def _limit(
    values: MetricValues, peaks: Mapping[str, float], fact: Mapping[str, str]
) -> tuple[float, bool]:
    """A limit as it was measured, else as the catalogue computes it, and which of both it is."""
    column = fact.get("column", "")
    if column and (found := peaks.get(column)):  # a file may have a column without a name
        return found, True
    metric = values.measured.catalogue.metrics.get(fact.get("metric", ""))
    return (values.with_peak(metric).statistics["peak"] or 0.0) if metric else 0.0, False


def _points(
    measured: Measured, options: RooflineOptions
) -> tuple[list[RoofPoint], list[str], bool]:
    """The points, what could not be had, and whether there are the counters to place any."""
    kind = options.kind
    catalogue = measured.catalogue
    operations = catalogue.metrics["flops_total"].value
    if "flops_total" not in catalogue.shown_metrics:
        return [], [f"N/A: {catalogue.chip} does not count floating-point operations"], False
    notes = []
    facts = definitions("roofline.toml")
    later = facts["later_operations"]
    uncounted = [name for name in measured.missing(operations) if name in later]
    if uncounted:
        operations = expression_text(without_terms(parsed(operations), uncounted))
        types = " and ".join(later[name] for name in uncounted)
        notes.append(f"without matrix operations on {types} ({needs_text(uncounted)})")
    missing = measured.missing(f"({operations}) / duration")
    if missing:
        return [], [f"kernels cannot be placed: {needs_text(missing)}"], False
    usable = {}
    for level in options.levels:
        formula = facts["level"][level.value]["bytes"]
        lacking = measured.missing(formula)
        if lacking:
            notes.append(f"{level.value}: {needs_text(lacking)}")
        else:
            usable[level] = formula
    scope: Scope = KernelScope(measured) if kind is PointKind.KERNELS else measured.dispatches()
    with np.errstate(all="ignore"):
        done = _column(measured, operations, scope, kind)
        moved = {
            level: _column(measured, formula, scope, kind) for level, formula in usable.items()
        }
        spans = _column(measured, "duration", scope, kind) * 1e9
    points = _top_points(measured, kind, options.most_points, _Amounts(done, moved, spans))
    return points, notes, True


def _column(measured: Measured, formula: str, scope: Scope, kind: PointKind) -> Array:
    table = measured.table
    count = len(table.kernel_names) if kind is PointKind.KERNELS else table.count
    value = evaluated(parsed(formula), scope)
    return np.broadcast_to(np.asarray(value, dtype=np.float64), (count,))


class _Amounts(NamedTuple):
    """Operations, bytes at each level and nanoseconds of each kernel or dispatch."""

    operations: Array
    bytes: dict[MemoryLevel, Array]
    spans_ns: Array


def _top_points(
    measured: Measured, kind: PointKind, most: int, amounts: _Amounts
) -> list[RoofPoint]:
    table = measured.table
    done, moved, spans = amounts
    calls = np.bincount(table.kernel_codes, minlength=len(table.kernel_names))
    weights = spans * calls if kind is PointKind.KERNELS else spans
    points = []
    for at in np.argsort(-np.nan_to_num(weights), kind="stable")[:most].tolist():
        if not (spans[at] > 0 and math.isfinite(done[at])):
            continue
        sizes = {level: float(values[at]) for level, values in moved.items()}
        name = (
            table.kernel_names[at]
            if kind is PointKind.KERNELS
            else f"{table.dispatch_ids[at]}: {table.kernel_names[table.kernel_codes[at]]}"
        )
        points.append(
            RoofPoint(
                name,
                int(calls[at]) if kind is PointKind.KERNELS else 1,
                float(spans[at]),
                float(done[at]),
                float(done[at] / spans[at]),
                {
                    level: float(done[at]) / amount if amount > 0 else 0.0
                    for level, amount in sizes.items()
                    if math.isfinite(amount)
                },
                sizes,
            )
        )
    return points


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
    notes = dict.fromkeys(filter(None, (plotted.not_drawn, *plotted.notes)))
    if notes:
        facts["notes"] = "; ".join(notes)
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
