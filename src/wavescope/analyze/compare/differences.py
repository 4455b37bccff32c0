"""Differences: each part of the base trace beside the same part of another trace, and which of them
account for the change of the whole.

The time that a waterfall explains is the span of the GPUs (first start to last end, added up over
GPUs). It is the durations of all ops, less what ran at once, plus idle time; so the deltas of the
parts, of overlap and of idle time add up to the difference exactly, in integers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from wavescope.analyze.compare.figures import Figures, FiguresByName, TraceFigures, total_of
from wavescope.analyze.compare.renames import Rename
from wavescope.analyze.ops.gpu_timelines import gpu_timelines
from wavescope.arrays.intervals import Times
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.units import percent_of

NOTHING = Figures()


@dataclass(frozen=True)
class Difference:
    """One part in both traces; `base_name` is what a renamed one is called in the base."""

    name: str
    base: Figures
    new: Figures
    base_name: str = ""
    grouping: str = ""
    """How a part with another name in the base came about: 'renamed', 'merged' or 'split'."""
    evidence: str = ""

    @property
    def delta_ns(self) -> int:
        return self.new.total_ns - self.base.total_ns

    @property
    def status(self) -> str:
        """'both', 'new', 'gone', 'renamed', 'merged' or 'split'."""
        if self.base_name:
            return self.grouping
        if not self.base.calls:
            return "new"
        return "both" if self.new.calls else "gone"

    @property
    def calls_effect_ns(self) -> int:
        """How much of the delta comes from running more or less often, at the base's mean."""
        if not self.base.calls or not self.new.calls:
            return self.delta_ns
        more = self.new.calls - self.base.calls
        return round(more * self.base.total_ns / self.base.calls)

    @property
    def speed_effect_ns(self) -> int:
        """The rest of the delta: each call took longer or shorter."""
        return self.delta_ns - self.calls_effect_ns


def differences(
    base: FiguresByName, new: FiguresByName, renamed: Iterable[Rename] = ()
) -> list[Difference]:
    """All parts of both, the largest change first; renamed ones are put together."""
    pairs = list(renamed)
    matched_base = {name for pair in pairs for name in pair.base}
    matched_new = {name for pair in pairs for name in pair.new}
    found = [
        Difference(
            " + ".join(pair.new),
            total_of(base[name] for name in pair.base),
            total_of(new[name] for name in pair.new),
            " + ".join(pair.base),
            pair.grouping,
            pair.evidence,
        )
        for pair in pairs
    ]
    found += [
        Difference(name, base.get(name, NOTHING), figures)
        for name, figures in new.items()
        if name not in matched_new
    ]
    found += [
        Difference(name, figures, NOTHING)
        for name, figures in base.items()
        if name not in new and name not in matched_base
    ]
    return sorted(found, key=lambda row: (-abs(row.delta_ns), -row.base.total_ns, row.name))


def percent_change(base: float | None, new: float | None) -> float | None:
    """From `base` to `new`; None without both."""
    return 100 * (new - base) / base if base and new is not None else None


class _Row(NamedTuple):
    """A difference in the table of several traces."""

    trace: int
    part: Difference
    category: str | None = None


_TRACE_COLUMN = ResultColumn("trace", "Trace", meaning="number of the other trace")
_FIGURE_COLUMNS: tuple[ColumnOf[_Row], ...] = (
    ResultColumn("base_total_ns", "Base", Unit.NS, "sum of durations in the base trace").of(
        lambda row: row.part.base.total_ns
    ),
    ResultColumn("new_total_ns", "New", Unit.NS, "sum of durations in the other trace").of(
        lambda row: row.part.new.total_ns
    ),
    ResultColumn("delta_ns", "Delta", Unit.NS, "new - base").of(lambda row: row.part.delta_ns),
    ResultColumn("delta_percent", "Delta %", Unit.PERCENT, "delta / base").of(
        lambda row: percent_change(row.part.base.total_ns, row.part.new.total_ns)
    ),
    ResultColumn("base_calls", "Base calls", Unit.COUNT, "ops in the base trace").of(
        lambda row: row.part.base.calls
    ),
    ResultColumn("new_calls", "New calls", Unit.COUNT, "ops in the other trace").of(
        lambda row: row.part.new.calls
    ),
    ResultColumn("delta_calls", "Delta calls", Unit.COUNT, "new - base").of(
        lambda row: row.part.new.calls - row.part.base.calls
    ),
    ResultColumn("base_mean_ns", "Base mean", Unit.NS, "total / calls of the base").of(
        lambda row: row.part.base.mean_ns
    ),
    ResultColumn("new_mean_ns", "New mean", Unit.NS, "total / calls of the other").of(
        lambda row: row.part.new.mean_ns
    ),
    ResultColumn("mean_percent", "Mean %", Unit.PERCENT, "change of the mean").of(
        lambda row: percent_change(row.part.base.mean_ns, row.part.new.mean_ns)
    ),
)
_KERNEL_COLUMNS: tuple[ColumnOf[_Row], ...] = (
    ResultColumn("status", "Status", Unit.NAME, "both, new, gone, renamed, merged or split").of(
        lambda row: row.part.status
    ),
    ResultColumn("base_name", "Was", Unit.NAME, "what a renamed one is called in the base").of(
        lambda row: row.part.base_name or None
    ),
    ResultColumn("matched_by", "Matched by", Unit.NAME, "what the two names agree in").of(
        lambda row: row.part.evidence or None
    ),
    ResultColumn("calls_effect_ns", "By calls", Unit.NS, "delta because it ran more often").of(
        lambda row: row.part.calls_effect_ns
    ),
    ResultColumn("speed_effect_ns", "By speed", Unit.NS, "delta because each call took longer").of(
        lambda row: row.part.speed_effect_ns
    ),
)


def difference_table(
    name: str,
    title: str,
    part: str,
    of_trace: Sequence[tuple[int, Sequence[Difference]]],
    *,
    categories: Mapping[str, str] | None = None,
) -> ResultTable:
    """A table of differences with the base; `of_trace` has the number of each other trace.

    The column `trace` is there when the base is compared with several.
    """
    known = categories or {}
    rows = (
        _Row(number, change, known.get(change.name.split(" + ")[0]))
        for number, changes in of_trace
        for change in changes
    )
    columns: list[ColumnOf[_Row]] = [
        ResultColumn("name", part, Unit.NAME, "as in the other trace, where it is there").of(
            lambda row: row.part.name
        )
    ]
    if len(of_trace) > 1:
        columns.insert(0, _TRACE_COLUMN.of(lambda row: row.trace))
    if categories is None:
        return table_of(name, title, [*columns, *_FIGURE_COLUMNS], rows)
    category: ColumnOf[_Row] = ResultColumn("category", "Category", Unit.NAME, "kind of work").of(
        lambda row: row.category
    )
    return table_of(name, title, [*columns, category, *_FIGURE_COLUMNS, *_KERNEL_COLUMNS], rows)


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


class _Step(NamedTuple):
    """A row of a waterfall: a part that takes the sum from the base towards the new trace."""

    trace: int
    name: str
    running_ns: int
    base_ns: int | None = None
    new_ns: int | None = None
    delta_ns: int | None = None
    delta_percent: float | None = None
    base_calls: int | None = None
    new_calls: int | None = None


_WATERFALL_COLUMNS: tuple[ColumnOf[_Step], ...] = (
    ResultColumn("name", "Part", Unit.NAME, "what accounts for the difference").of(
        lambda row: row.name
    ),
    ResultColumn("base_ns", "Base", Unit.NS, "in the base trace").of(lambda row: row.base_ns),
    ResultColumn("new_ns", "New", Unit.NS, "in the other trace").of(lambda row: row.new_ns),
    ResultColumn("delta_ns", "Delta", Unit.NS, "new - base; these add up to the difference").of(
        lambda row: row.delta_ns
    ),
    ResultColumn("running_ns", "Sum", Unit.NS, "the base and all deltas so far").of(
        lambda row: row.running_ns
    ),
    ResultColumn("delta_percent", "of base %", Unit.PERCENT, "delta / span of the base").of(
        lambda row: row.delta_percent
    ),
    ResultColumn("base_calls", "Base calls", Unit.COUNT, "ops in the base trace").of(
        lambda row: row.base_calls
    ),
    ResultColumn("new_calls", "New calls", Unit.COUNT, "ops in the other trace").of(
        lambda row: row.new_calls
    ),
)


def waterfall_table(
    name: str, title: str, comparisons: Sequence[Comparison], rows: int = 0
) -> ResultTable:
    """The rows of each comparison; with `rows`, the smallest parts are put together in one."""
    columns = list(_WATERFALL_COLUMNS)
    if len(comparisons) > 1:
        columns.insert(0, _TRACE_COLUMN.of(lambda row: row.trace))
    steps = [step for comparison in comparisons for step in _steps(comparison, rows)]
    return replace(table_of(name, title, columns, steps), is_whole=True)


def _steps(comparison: Comparison, most: int) -> list[_Step]:
    number, base, new = comparison.number, comparison.base, comparison.new
    running_ns = base.span_ns
    steps = [_Step(number, BASE_ROW, running_ns, base_ns=base.span_ns)]
    changes: list[tuple[str, int, int, int | None, int | None]] = [
        (part.name, part.base.total_ns, part.new.total_ns, part.base.calls, part.new.calls)
        for part in _folded(comparison.parts, most)
    ]
    changes += [
        (OVERLAP_ROW, base.overlap_ns, new.overlap_ns, None, None),
        (IDLE_ROW, base.idle_ns, new.idle_ns, None, None),
    ]
    for name, before_ns, after_ns, base_calls, new_calls in changes:
        delta_ns = after_ns - before_ns
        running_ns += delta_ns
        share = percent_of(delta_ns, base.span_ns)
        steps.append(
            _Step(
                number,
                name,
                running_ns,
                before_ns,
                after_ns,
                delta_ns,
                share,
                base_calls,
                new_calls,
            )
        )
    assert running_ns == new.span_ns
    return [*steps, _Step(number, NEW_ROW, running_ns, new_ns=new.span_ns)]


def _folded(parts: Sequence[Difference], most: int) -> list[Difference]:
    """The parts with the largest changes, and all others as one."""
    if not most or len(parts) <= most:
        return list(parts)
    rest = parts[most - 1 :]
    base, new = total_of(part.base for part in rest), total_of(part.new for part in rest)
    return [*parts[: most - 1], Difference(f"({len(rest)} others)", base, new)]
