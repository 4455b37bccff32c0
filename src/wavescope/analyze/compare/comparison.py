"""`wavescope compare A B [C...]`: the first trace is the base, the others are compared with it."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

from wavescope.analyze.compare import sampled_comparison as sampled
from wavescope.analyze.compare.differences import (
    Comparison,
    Difference,
    GpuTime,
    difference_table,
    differences,
    gpu_time,
    waterfall_table,
)
from wavescope.analyze.compare.figures import (
    FigureOptions,
    Figures,
    TraceFigures,
    coverage_findings,
    coverage_percent,
    figures_by_phase,
)
from wavescope.analyze.compare.headline import headline
from wavescope.analyze.compare.renames import chips_of, renames, told_apart
from wavescope.analyze.compare.step_times import step_table
from wavescope.analyze.operators import OpOperators
from wavescope.errors import UsageError
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
    table_of,
)
from wavescope.model.trace import Trace
from wavescope.units import percent_of


class Part(str, enum.Enum):
    """What traces are compared by."""

    OPERATOR = "operator"
    CATEGORY = "category"
    KERNEL = "kernel"
    PHASE = "phase"
    STEP = "step"


@dataclass(frozen=True)
class CompareOptions:
    """What is compared, how ops are grouped, and whether renamed kernels are looked for."""

    parts: tuple[Part, ...] | None = None
    """None for all that the traces know, where phases and steps need markers."""
    figures: FigureOptions = field(default_factory=FigureOptions)
    match_renamed: bool = True
    waterfall_rows: int = 0
    """Rows of parts in each waterfall, the smallest put together; 0 for all."""
    step: str = ""
    """Markers that are steps; empty for the usual names."""


@dataclass(frozen=True)
class _Pair:
    """The base and one other trace."""

    number: int
    base: TraceFigures
    new: TraceFigures
    base_time: GpuTime
    new_time: GpuTime
    match_renamed: bool

    @cached_property
    def kernels(self) -> list[Difference]:
        renamed = renames(self.base, self.new) if self.match_renamed else []
        return differences(self.base.by_kernel, self.new.by_kernel, renamed)

    @property
    def categories(self) -> list[Difference]:
        return differences(self.base.by_category, self.new.by_category)

    @property
    def operators(self) -> list[Difference] | None:
        base, new = self.base.by_operator, self.new.by_operator
        return None if base is None or new is None else differences(base, new)

    def comparison(self, parts: Sequence[Difference]) -> Comparison:
        return Comparison(self.number, self.base_time, self.new_time, parts)


def compare(traces: Sequence[Trace], options: CompareOptions | None = None) -> Result:
    """Table `traces`, and for each part asked for its differences; what stands out."""
    options = options or CompareOptions()
    parts = options.parts or _known_parts(traces)
    if sampled.is_sampled(traces):
        return sampled.sampled_comparison(traces, _sampled_parts(parts))
    with_phases = Part.PHASE in parts or Part.STEP in parts
    figure_options = replace(options.figures, with_phases=with_phases)
    figures = told_apart([TraceFigures(trace, figure_options) for trace in traces])
    times = [gpu_time(each) for each in figures]
    pairs = [
        _Pair(number, figures[0], new, times[0], time, options.match_renamed)
        for number, (new, time) in enumerate(zip(figures[1:], times[1:], strict=True), 2)
    ]
    tables = [table for part in parts for table in _TABLES[part](pairs, figures, options)]
    return Result(
        "Comparison",
        [_trace_table(figures, times), *tables],
        _findings(figures),
        {"headline": _headline(pairs, parts)},
    )


def _sampled_parts(parts: Sequence[Part]) -> list[sampled.Part]:
    """Of the parts that are asked for those that slices of a run show."""
    known = {
        Part.CATEGORY: sampled.CATEGORIES,
        Part.KERNEL: sampled.KERNELS,
        Part.PHASE: sampled.PHASES,
    }
    chosen = [known[part] for part in parts if part in known]
    if chosen:
        return chosen
    raise UsageError(
        "sampled traces cannot be compared by operator or step: most of their kernels were not "
        "recorded",
        hint="compare them by category, kernel or phase, or record with --mode standard",
    )


def _headline(pairs: Sequence[_Pair], parts: Sequence[Part]) -> str:
    """One sentence for each trace, by the parts that are known or were asked for."""
    sentences = []
    for pair in pairs:
        operators = pair.operators if Part.OPERATOR in parts else None
        named = pair.kernels if Part.KERNEL in parts else pair.categories
        sentences.append(headline(pair.comparison(named if operators is None else operators)))
    return "; ".join(sentences)


def _known_parts(traces: Sequence[Trace]) -> tuple[Part, ...]:
    if all(len(trace.markers) for trace in traces):
        return tuple(Part)
    return (Part.OPERATOR, Part.CATEGORY, Part.KERNEL)


class _TraceRow(NamedTuple):
    number: int
    figures: TraceFigures
    time: GpuTime

    def share_of_ops(self, count: Callable[[OpOperators], int]) -> float | None:
        """A count of ops as percent of all; None where operators are unknown."""
        operators, calls = self.figures.operators, self.figures.total.calls
        return None if operators is None or not calls else 100 * count(operators) / calls

    @property
    def joined_percent(self) -> float | None:
        """The share of replayed ops that got their operators; None where nothing is replayed."""
        operators = self.figures.operators
        return percent_of(operators.joined_count, operators.replayed_count) if operators else None


_TRACE_COLUMNS: tuple[ColumnOf[_TraceRow], ...] = (
    ResultColumn("trace", "Trace", meaning="number; 1 is the base").of(lambda row: row.number),
    ResultColumn("path", "Path", Unit.NAME, "the file").of(lambda row: row.figures.trace.path),
    ResultColumn("gpu_model", "GPU", Unit.NAME, "product or chip, where the trace says so").of(
        lambda row: ", ".join(chips_of(row.figures.trace)) or None
    ),
    ResultColumn("gpu_count", "GPUs", Unit.COUNT, "GPUs with at least one op").of(
        lambda row: row.time.gpu_count
    ),
    ResultColumn("op_count", "Ops", Unit.COUNT, "kernels, copies and fills that count").of(
        lambda row: row.figures.total.calls
    ),
    ResultColumn("span_ns", "Span", Unit.NS, "first start to last end, added up over GPUs").of(
        lambda row: row.time.span_ns
    ),
    ResultColumn("busy_ns", "Busy", Unit.NS, "time with at least one op running").of(
        lambda row: row.time.busy_ns
    ),
    ResultColumn("idle_ns", "Idle", Unit.NS, "span - busy").of(lambda row: row.time.idle_ns),
    ResultColumn("gpu_time_ns", "GPU time", Unit.NS, "durations of all ops").of(
        lambda row: row.time.duration_sum_ns
    ),
    ResultColumn("coverage_percent", "Coverage %", Unit.PERCENT, "dispatches timed / seen").of(
        lambda row: coverage_percent(row.figures.trace)
    ),
    ResultColumn("linked_percent", "Linked %", Unit.PERCENT, "ops whose launch is in the trace").of(
        lambda row: row.share_of_ops(lambda operators: operators.linked_count)
    ),
    ResultColumn(
        "inferred_percent",
        "Inferred %",
        Unit.PERCENT,
        "ops whose operator was inferred from other ops",
    ).of(lambda row: row.share_of_ops(lambda operators: operators.inferred_count)),
    ResultColumn(
        "joined_percent", "Joined %", Unit.PERCENT, "ops of graph replays whose capture is known"
    ).of(lambda row: row.joined_percent),
)


def _trace_table(figures: Sequence[TraceFigures], times: Sequence[GpuTime]) -> ResultTable:
    rows = [
        _TraceRow(number, each, time)
        for number, (each, time) in enumerate(zip(figures, times, strict=True), 1)
    ]
    return table_of("traces", "Traces", _TRACE_COLUMNS, rows)


def _operator_tables(
    pairs: Sequence[_Pair], _: Sequence[TraceFigures], options: CompareOptions
) -> list[ResultTable]:
    known = [(pair, parts) for pair in pairs if (parts := pair.operators) is not None]
    return _explained("operators", "operator", known, options) if known else []


def _category_tables(
    pairs: Sequence[_Pair], _: Sequence[TraceFigures], options: CompareOptions
) -> list[ResultTable]:
    return _explained(
        "categories", "category", [(pair, pair.categories) for pair in pairs], options
    )


def _explained(
    name: str,
    part: str,
    found: Sequence[tuple[_Pair, Sequence[Difference]]],
    options: CompareOptions,
) -> list[ResultTable]:
    """The waterfall of parts that make up all of the time, and their differences."""
    waterfall = [pair.comparison(parts) for pair, parts in found]
    title = f"From base to new, by {part}"
    return [
        waterfall_table(f"waterfall_{name}", title, waterfall, options.waterfall_rows),
        difference_table(
            name,
            name.capitalize(),
            part.capitalize(),
            [(pair.number, rows) for pair, rows in found],
        ),
    ]


def _kernel_tables(
    pairs: Sequence[_Pair], figures: Sequence[TraceFigures], _: CompareOptions
) -> list[ResultTable]:
    categories: dict[str, str] = {}
    for each in figures:
        categories |= each.category_of_kernel
    found = [(pair.number, pair.kernels) for pair in pairs]
    tables = [difference_table("kernels", "Kernels", "Kernel", found, categories=categories)]
    return [*tables, _totals_table(figures)] if len(pairs) > 1 else tables


def _phase_tables(
    pairs: Sequence[_Pair], figures: Sequence[TraceFigures], _: CompareOptions
) -> list[ResultTable]:
    phases = [figures_by_phase(each) for each in figures]
    found = [(pair.number, differences(phases[0], phases[pair.number - 1])) for pair in pairs]
    return [difference_table("phases", "Phases", "Phase", found)]


def _step_tables(
    _: Sequence[_Pair], figures: Sequence[TraceFigures], options: CompareOptions
) -> list[ResultTable]:
    table = step_table(figures, options.step)
    return [table] if table.rows else []


_TABLES: dict[
    Part,
    Callable[[Sequence[_Pair], Sequence[TraceFigures], CompareOptions], list[ResultTable]],
] = {
    Part.OPERATOR: _operator_tables,
    Part.CATEGORY: _category_tables,
    Part.KERNEL: _kernel_tables,
    Part.PHASE: _phase_tables,
    Part.STEP: _step_tables,
}


def _totals_table(figures: Sequence[TraceFigures]) -> ResultTable:
    """All traces side by side, by kernel name."""
    names: dict[str, int] = {}
    for each in figures:
        for name, row in each.by_kernel.items():
            names[name] = max(names.get(name, 0), row.total_ns)
    columns = (
        ResultColumn("name", "Kernel", Unit.NAME, "kernel, copy or fill"),
        *(
            ResultColumn(f"total_{number}_ns", f"Trace {number}", Unit.NS, "sum of durations")
            for number in range(1, len(figures) + 1)
        ),
    )
    rows: list[tuple[Value, ...]] = [
        (name, *(each.by_kernel.get(name, Figures()).total_ns for each in figures))
        for name in sorted(names, key=lambda name: (-names[name], name))
    ]
    return ResultTable("kernel_totals", "Kernels of all traces", columns, rows)


def _findings(figures: Sequence[TraceFigures]) -> list[Finding]:
    """What makes totals differ that is no difference: coverage, and ops from before a trace."""
    parts = []
    for number, each in enumerate(figures, 1):
        operators = each.operators
        missing = 0 if operators is None else each.total.calls - operators.linked_count
        if missing:
            parts.append(f"{missing:,} of {each.total.calls:,} ops of trace {number}")
    found = coverage_findings([coverage_percent(each.trace) for each in figures])
    if not parts:
        return found
    return [
        *found,
        Finding(
            "launches-missing",
            Severity.INFO,
            "some ops were launched before their trace began",
            f"the launch is not in the trace of {', '.join(parts)}",
            "--linked compares only what was launched within the traces",
        ),
    ]
