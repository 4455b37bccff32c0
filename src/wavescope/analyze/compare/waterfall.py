"""From the base's time to the other trace's, step by step: which parts account for the difference.

The time explained is the span of the GPUs (first start to last end, added up over GPUs). It is the
durations of all ops, less what ran at once, plus idle time; so the deltas of the parts, of overlap
and of idle time add up to the difference exactly, in integers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from wavescope.analyze.compare.differences import TRACE_COLUMN, Difference
from wavescope.analyze.compare.figures import TraceFigures, total_of
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.analyze.ops.utilization import percent_of
from wavescope.arrays.intervals import Times
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

BASE_ROW = "(base)"
NEW_ROW = "(new)"
OVERLAP_ROW = "(ran at once)"
IDLE_ROW = "(idle)"


class GpuTime(NamedTuple):
    """The time of all GPUs of a trace, added up."""

    span_ns: int
    busy_ns: int
    duration_sum_ns: int
    gpu_count: int

    @property
    def idle_ns(self) -> int:
        return self.span_ns - self.busy_ns

    @property
    def overlap_ns(self) -> int:
        """What the durations count more than once, as a negative number."""
        return self.busy_ns - self.duration_sum_ns


def gpu_time(figures: TraceFigures) -> GpuTime:
    """Span, busy time and durations of the ops that count."""
    timelines = gpu_timelines(figures.trace.with_tables((figures.ops,)))
    span = busy = durations = 0
    for timeline in timelines:
        busy += timeline.busy.union_ns
        durations += timeline.duration_sum_ns
        span += _length(timeline.busy.starts, timeline.busy.ends)
    return GpuTime(span, busy, durations, len(timelines))


def _length(starts: Times, ends: Times) -> int:
    return int(ends[-1]) - int(starts[0]) if len(starts) else 0


class Comparison(NamedTuple):
    """One other trace beside the base, by one kind of part."""

    number: int
    base: GpuTime
    new: GpuTime
    parts: Sequence[Difference]


_COLUMNS = (
    ResultColumn("name", "Part", Unit.NAME, "what accounts for the difference"),
    ResultColumn("base_ns", "Base", Unit.NS, "in the base trace"),
    ResultColumn("new_ns", "New", Unit.NS, "in the other trace"),
    ResultColumn("delta_ns", "Delta", Unit.NS, "new - base; these add up to the difference"),
    ResultColumn("running_ns", "Sum", Unit.NS, "the base and all deltas so far"),
    ResultColumn("delta_percent", "of base %", Unit.PERCENT, "delta / span of the base"),
    ResultColumn("base_calls", "Base calls", Unit.COUNT, "ops in the base trace"),
    ResultColumn("new_calls", "New calls", Unit.COUNT, "ops in the other trace"),
)


def waterfall_table(
    name: str, title: str, comparisons: Sequence[Comparison], rows: int = 0
) -> ResultTable:
    """The rows of each comparison; with `rows`, the smallest parts are put together in one."""
    many = len(comparisons) > 1
    found: list[tuple[Value, ...]] = []
    for comparison in comparisons:
        place = (comparison.number,) if many else ()
        found += [(*place, *row) for row in _rows(comparison, rows)]
    columns = (*(TRACE_COLUMN if many else ()), *_COLUMNS)
    return ResultTable(name, title, columns, found, is_whole=True)


def _rows(comparison: Comparison, most: int) -> list[tuple[Value, ...]]:
    base, new = comparison.base, comparison.new
    running = base.span_ns
    rows: list[tuple[Value, ...]] = [
        (BASE_ROW, base.span_ns, None, None, running, None, None, None)
    ]
    for part in _folded(comparison.parts, most):
        running += part.delta_ns
        rows.append(
            (
                part.name,
                part.base.total_ns,
                part.new.total_ns,
                part.delta_ns,
                running,
                percent_of(part.delta_ns, base.span_ns),
                part.base.calls,
                part.new.calls,
            )
        )
    for name, before, after in (
        (OVERLAP_ROW, base.overlap_ns, new.overlap_ns),
        (IDLE_ROW, base.idle_ns, new.idle_ns),
    ):
        running += after - before
        share = percent_of(after - before, base.span_ns)
        rows.append((name, before, after, after - before, running, share, None, None))
    assert running == new.span_ns
    rows.append((NEW_ROW, None, new.span_ns, None, running, None, None, None))
    return rows


def _folded(parts: Sequence[Difference], most: int) -> list[Difference]:
    """The parts with the largest changes, and all others as one."""
    if not most or len(parts) <= most:
        return list(parts)
    rest = parts[most - 1 :]
    base, new = total_of(part.base for part in rest), total_of(part.new for part in rest)
    return [*parts[: most - 1], Difference(f"({len(rest)} others)", base, new)]
