"""The roofline of a workload: how many operations kernels do for each byte, and what the chip can.

docs/roofline.md gives the formulas. Ceilings are the measured ones of roofline.csv; what was not
measured comes from the chip's clocks and is marked as computed.
"""

from __future__ import annotations

import enum
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from wavescope.analyze.counters.catalogue import Catalogue
from wavescope.analyze.counters.expression import expression_text, parsed, without_terms
from wavescope.analyze.counters.expression_value import Array, Scope, evaluated
from wavescope.analyze.counters.measured import KernelScope, Measured
from wavescope.analyze.counters.metric_values import MetricValues, needs_text
from wavescope.model.counters import CounterTable


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


DATA_TYPES = ("FP4", "FP6", "FP8", "FP16", "BF16", "FP32", "FP64", "I8", "I32", "I64")

BYTES = {
    MemoryLevel.HBM: "fabric_read_bytes + fabric_write_bytes",
    MemoryLevel.L2: "vl1d_line * vl1d_l2_requests",
    MemoryLevel.VL1D: "vl1d_line * TCP_TOTAL_CACHE_ACCESSES_sum",
    MemoryLevel.LDS: "lds_useful_cycles * 4[B/cycle] * lds_banks_per_cu",
}
_BANDWIDTH_COLUMNS = {
    MemoryLevel.HBM: "HBMBw",
    MemoryLevel.L2: "L2Bw",
    MemoryLevel.VL1D: "L1Bw",
    MemoryLevel.LDS: "LDSBw",
}
BANDWIDTH_METRICS = {
    MemoryLevel.HBM: "fabric_read_bandwidth",
    MemoryLevel.L2: "l2_bandwidth",
    MemoryLevel.VL1D: "vl1d_bandwidth",
    MemoryLevel.LDS: "lds_bandwidth",
}
_VECTOR_COLUMNS = {
    "FP16": "FP16Flops",
    "FP32": "FP32Flops",
    "FP64": "FP64Flops",
    "I8": "I8Ops",
    "I32": "I32Ops",
    "I64": "I64Ops",
}
_MATRIX_COLUMNS = {
    "FP4": "MFMAF4Flops",
    "FP6": "MFMAF6Flops",
    "FP8": "MFMAF8Flops",
    "FP16": "MFMAF16Flops",
    "BF16": "MFMABF16Flops",
    "FP32": "MFMAF32Flops",
    "FP64": "MFMAF64Flops",
    "I8": "MFMAI8Ops",
}
MATRIX_METRICS = {
    "FP4": "mfma_flops_f6f4",
    "FP6": "mfma_flops_f6f4",
    "FP8": "mfma_flops_f8",
    "FP16": "mfma_flops_f16",
    "BF16": "mfma_flops_bf16",
    "FP32": "mfma_flops_f32",
    "FP64": "mfma_flops_f64",
    "I8": "mfma_iops_i8",
}
_LATER_OPERATIONS = {
    "SQ_INSTS_VALU_MFMA_MOPS_F8": "FP8",
    "SQ_INSTS_VALU_MFMA_MOPS_F6F4": "FP6 and FP4",
}
"""Counters that older collectors do not read, and whose operations few kernels have."""
_VECTOR_RATES = {"FP32": 1.0, "FP64": 1.0}
"""Of the vector peak that the catalogue computes, for types without a measured rate."""


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


@dataclass(frozen=True)
class RooflineOptions:
    """What is drawn: the points with most time, under the roofs of these levels and types."""

    levels: tuple[MemoryLevel, ...] = tuple(MemoryLevel)
    data_types: tuple[str, ...] = ()
    """None means all that the chip has."""
    kind: PointKind = PointKind.KERNELS
    most_points: int = 10


DEFAULT_PLOT = RooflineOptions()


def roofline(values: MetricValues, options: RooflineOptions = DEFAULT_PLOT) -> Roofline:
    """The roofline of the chosen dispatches."""
    measured = values.measured
    ceilings = list(_ceilings(values, options.levels, options.data_types))
    points, notes = _points(measured, options.levels, options.kind, options.most_points)
    if not any(ceiling.measured for ceiling in ceilings):
        notes.append("no roofline.csv: ceilings are computed from the chip's clocks")
    device = int(measured_peaks(measured.table).get("device", 0))
    return Roofline(measured.table.chip, device, tuple(ceilings), tuple(points), tuple(notes))


def supported_types(chip: str) -> tuple[str, ...]:
    """The data types that have a ceiling on a chip."""
    newest = {"gfx950": DATA_TYPES}
    since_mi300 = tuple(name for name in DATA_TYPES if name not in {"FP4", "FP6"})
    older = tuple(name for name in since_mi300 if name != "FP8")
    if chip in newest:
        return newest[chip]
    return since_mi300 if chip.startswith("gfx94") else older


def bound_of(point: RoofPoint, result: Roofline) -> tuple[MemoryLevel | None, float]:
    """The memory level whose roof is nearest above a point, and how near it is in percent."""
    best: tuple[MemoryLevel | None, float] = (None, 0.0)
    for ceiling in result.ceilings:
        if ceiling.level is None or not point.time_ns:
            continue
        moved = point.bytes.get(ceiling.level, 0.0)
        share = 100 * moved / point.time_ns / ceiling.value
        if share > best[1]:
            best = (ceiling.level, share)
    return best


def measured_peaks(table: CounterTable) -> Mapping[str, float]:
    """The measured peaks of the GPU that most dispatches ran on, else of the first; none if none.

    A GPU id that no row has is one of the driver's numbers, not the place of the GPU.
    """
    if not table.ceilings:
        return {}
    ids, counts = np.unique(table.gpu_ids, return_counts=True)
    busiest = int(ids[counts.argmax()]) if len(ids) else 0
    return next((row for row in table.ceilings if row.get("device") == busiest), table.ceilings[0])


def rate_lines(result: Roofline) -> list[Ceiling]:
    """The rates, those of equal value as one line: 'MFMA FP16, MFMA BF16'."""
    return [
        alike[0]._replace(name=", ".join(each.name for each in alike))
        for alike in equal_rates(result)
    ]


def equal_rates(result: Roofline) -> list[list[Ceiling]]:
    """The rates, those of equal value together."""
    alike: dict[float, list[Ceiling]] = {}
    for ceiling in result.ceilings:
        if not ceiling.is_bandwidth:
            alike.setdefault(ceiling.value, []).append(ceiling)
    return list(alike.values())


def rate_unit(ceilings: Sequence[Ceiling]) -> str:
    """The unit of ceilings that are shown as one: operations on integers are no FLOPs."""
    if any(ceiling.is_bandwidth for ceiling in ceilings):
        return "GB/s"
    integers = [ceiling.data_type.startswith("I") for ceiling in ceilings]
    return "GIOP/s" if all(integers) else "GOP/s" if any(integers) else "GFLOP/s"


def _ceilings(
    values: MetricValues, levels: Iterable[MemoryLevel], data_types: Sequence[str]
) -> Iterable[Ceiling]:
    table = values.measured.table
    rows = measured_peaks(table)
    for level in levels:
        found = rows.get(_BANDWIDTH_COLUMNS[level])
        computed = _peak(values, BANDWIDTH_METRICS[level])
        if found or computed:
            yield Ceiling(level.value, level, "", found or computed or 0.0, bool(found))
    known = values.measured.catalogue.metrics
    for name in data_types or supported_types(table.chip):
        vector = rows.get(_VECTOR_COLUMNS.get(name, ""))
        rate = _VECTOR_RATES.get(name)
        computed = (_peak(values, "valu_flops") or 0.0) * rate if rate else 0.0
        if vector or computed:
            yield Ceiling(f"VALU {name}", None, name, vector or computed, bool(vector))
        matrix = rows.get(_MATRIX_COLUMNS.get(name, ""))
        metric = MATRIX_METRICS.get(name, "")
        has_units = metric in known and table.chip != "gfx906"
        computed = (_peak(values, metric) or 0.0) if has_units else 0.0
        if matrix or computed:
            yield Ceiling(f"MFMA {name}", None, name, matrix or computed, bool(matrix))


def _peak(values: MetricValues, key: str) -> float | None:
    """The peak that the catalogue computes for a metric, in its unit."""
    metric = values.measured.catalogue.metrics[key]
    return values.with_peak(metric).statistics["peak"]


def _points(
    measured: Measured, levels: Sequence[MemoryLevel], kind: PointKind, most: int
) -> tuple[list[RoofPoint], list[str]]:
    catalogue = measured.catalogue
    operations = catalogue.metrics["flops_total"].value
    if "flops_total" not in shown_metrics(catalogue):
        return [], [f"N/A: {catalogue.chip} does not count floating-point operations"]
    notes = []
    uncounted = [name for name in measured.missing(operations) if name in _LATER_OPERATIONS]
    if uncounted:
        operations = expression_text(without_terms(parsed(operations), uncounted))
        types = " and ".join(_LATER_OPERATIONS[name] for name in uncounted)
        notes.append(f"without matrix operations on {types} ({needs_text(uncounted)})")
    missing = measured.missing(f"({operations}) / duration")
    if missing:
        return [], [f"kernels cannot be placed: {needs_text(missing)}"]
    usable = []
    for level in levels:
        lacking = measured.missing(BYTES[level])
        if lacking:
            notes.append(f"{level.value}: {needs_text(lacking)}")
        else:
            usable.append(level)
    scope: Scope = KernelScope(measured) if kind is PointKind.KERNELS else measured.dispatches()
    with np.errstate(all="ignore"):
        done = _column(measured, operations, scope, kind)
        moved = {level: _column(measured, BYTES[level], scope, kind) for level in usable}
        spans = _column(measured, "duration", scope, kind) * 1e9
    return _top_points(measured, kind, most, _Amounts(done, moved, spans)), notes


def shown_metrics(catalogue: Catalogue) -> frozenset[str]:
    """Keys of the metrics that a chip's panels show."""
    return frozenset(
        row.metric for panel in catalogue.panels for table in panel.tables for row in table.rows
    )


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
