"""Idle gaps of each GPU: how many of which size, and what ran around the largest: the tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from wavescope.analyze.ops.gaps import Gap, GapBin, GpuGaps, gpu_gaps, largest_gaps
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.op_labels import short_op_name
from wavescope.analyze.ops.utilization import percent_of
from wavescope.analyze.quick_findings import DEFAULT_THRESHOLDS, small_gaps
from wavescope.model.result import (
    ColumnOf,
    Result,
    ResultColumn,
    ResultTable,
    Unit,
    table_of,
)
from wavescope.model.trace import Trace
from wavescope.units import duration_text


@dataclass(frozen=True)
class GapOptions:
    """How many of the largest gaps to list, and what counts as a small one."""

    largest: int = 10
    small_ns: int = int(DEFAULT_THRESHOLDS.small_gap_ns)


def gaps(trace: Trace, options: GapOptions | None = None) -> Result:
    """Tables `gaps` (per GPU), `gap_histogram` and `largest_gaps`, and findings."""
    options = options or GapOptions()
    measured = gpu_gaps(trace.derived(gpu_timelines), options.small_ns)
    tables = [
        _gap_table(measured, options.small_ns),
        table_of("gap_histogram", "Gaps by length", _HISTOGRAM_COLUMNS, _filled_bins(measured)),
        _largest_table(trace, options.largest, sum(gpu.gap_count for gpu in measured)),
    ]
    return Result("Idle gaps", tables, small_gaps(measured, options.small_ns))


_GPU = ResultColumn("gpu", "GPU", meaning="GPU number in the trace")


def _gap_table(measured: Sequence[GpuGaps], small_ns: int) -> ResultTable:
    small = duration_text(small_ns)
    columns: tuple[ColumnOf[GpuGaps], ...] = (
        _GPU.of(lambda gpu: gpu.gpu),
        ResultColumn("gap_count", "Gaps", Unit.COUNT, "stretches without any op running").of(
            lambda gpu: gpu.gap_count
        ),
        ResultColumn("total_ns", "Total", Unit.NS, "all gaps added up: the idle time").of(
            lambda gpu: gpu.total_ns
        ),
        ResultColumn("mean_ns", "Mean", Unit.NS, "total / gaps").of(
            lambda gpu: gpu.total_ns / gpu.gap_count if gpu.gap_count else None
        ),
        ResultColumn("longest_ns", "Longest", Unit.NS, "the longest gap").of(
            lambda gpu: gpu.longest_ns if gpu.gap_count else None
        ),
        ResultColumn("small_count", f"Under {small}", Unit.COUNT, f"gaps shorter than {small}").of(
            lambda gpu: gpu.small_count
        ),
        ResultColumn("small_total_ns", f"Total under {small}", Unit.NS, "these added up").of(
            lambda gpu: gpu.small_total_ns
        ),
        ResultColumn("small_span_percent", "of span %", Unit.PERCENT, "these / span of the GPU").of(
            lambda gpu: percent_of(gpu.small_total_ns, gpu.span_ns)
        ),
    )
    return table_of("gaps", "Idle gaps", columns, measured)


def _filled_bins(measured: Sequence[GpuGaps]) -> Iterator[tuple[GpuGaps, GapBin]]:
    return ((gpu, each) for gpu in measured for each in gpu.bins if each.gap_count)


_HISTOGRAM_COLUMNS: tuple[ColumnOf[tuple[GpuGaps, GapBin]], ...] = (
    _GPU.of(lambda row: row[0].gpu),
    ResultColumn("from_ns", "From", Unit.NS, "shortest gap of the bin").of(
        lambda row: row[1].from_ns
    ),
    ResultColumn(
        "below_ns", "Below", Unit.NS, "all gaps of the bin are shorter; none for the last"
    ).of(lambda row: row[1].below_ns),
    ResultColumn("gap_count", "Gaps", Unit.COUNT, "gaps of that length").of(
        lambda row: row[1].gap_count
    ),
    ResultColumn("total_ns", "Total", Unit.NS, "these added up").of(lambda row: row[1].total_ns),
    ResultColumn("idle_percent", "of idle %", Unit.PERCENT, "total / idle time of the GPU").of(
        lambda row: 100 * row[1].total_ns / row[0].total_ns
    ),
)


def _largest_table(trace: Trace, count: int, gap_count: int) -> ResultTable:
    columns: tuple[ColumnOf[Gap], ...] = (
        _GPU.of(lambda gap: gap.gpu),
        ResultColumn("start_ns", "Start", Unit.TIME, "end of the op before").of(
            lambda gap: gap.start_ns
        ),
        ResultColumn("end_ns", "End", Unit.TIME, "start of the op after").of(
            lambda gap: gap.end_ns
        ),
        ResultColumn("duration_ns", "Length", Unit.NS, "end - start").of(
            lambda gap: gap.duration_ns
        ),
        ResultColumn("before", "Op before", Unit.NAME, "op that ended as the gap began").of(
            lambda gap: short_op_name(trace, gap.before)
        ),
        ResultColumn("after", "Op after", Unit.NAME, "op that ended the gap").of(
            lambda gap: short_op_name(trace, gap.after)
        ),
    )
    largest = largest_gaps(trace, trace.derived(gpu_timelines), count)
    return table_of("largest_gaps", "Largest gaps", columns, largest, gap_count)
