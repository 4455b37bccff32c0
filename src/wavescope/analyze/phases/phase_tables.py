"""The tables of phases: one row for each path, and the kernels of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase

from wavescope.analyze.phases.kernel_rows import KERNEL_COLUMNS, kernel_rows
from wavescope.analyze.phases.marker_paths import Path, PhaseScope
from wavescope.analyze.phases.marker_phases import (
    MarkerPhases,
    PathFacts,
    PhaseOptions,
    marker_phases,
)
from wavescope.analyze.phases.op_ranges import Basis
from wavescope.analyze.phases.phase_kernels import PhaseKernels, depth_first, phase_kernels
from wavescope.model.columns import UNKNOWN
from wavescope.model.result import Result, ResultColumn, ResultTable, Unit, Value
from wavescope.model.trace import Trace
from wavescope.names.kernel_meaning import CategoryRules

OUTSIDE = "(outside any range)"


@dataclass(frozen=True)
class PhaseTableOptions:
    """What to show of the phases."""

    phases: PhaseOptions = field(default_factory=PhaseOptions)
    marker: str = ""
    """A glob: only paths in which a name, or which as a whole, match it."""
    kernels: int | None = None
    """Kernels listed for each path; all by default."""
    full_names: bool = False
    rules: CategoryRules | None = None


def phase_tables(trace: Trace, options: PhaseTableOptions | None = None) -> Result:
    """Tables `phases` and `phase_kernels`; how ops were attributed as facts."""
    options = options or PhaseTableOptions()
    phases = marker_phases(trace, options.phases)
    kernels = phase_kernels(phases, options.rules, full_names=options.full_names)
    shown = [number for number in _listed(phases) if _matches(phases, number, options.marker)]
    counts = phases.basis_counts
    return Result(
        "Phases",
        [
            _phase_table(phases, shown, with_outside=not options.marker),
            _kernel_table(phases, kernels, shown, options),
        ],
        facts={
            "op_count": sum(counts.values()),
            "attribution": attribution_sentence(counts),
            "by_cause_count": counts[Basis.CAUSE],
            "by_launch_time_count": counts[Basis.LAUNCH_TIME],
            "by_time_count": counts[Basis.TIME],
            "outside_count": counts[Basis.OUTSIDE],
            "range_count": len(phases.found.host),
            "instant_mark_count": phases.found.instant_count,
            "path_count": len(phases.paths),
        },
    )


def attribution_sentence(counts: dict[Basis, int]) -> str:
    """How many ops belong to their phase by what, in words."""
    words = (
        (Basis.CAUSE, "by cause (the launching thread's open range)"),
        (Basis.LAUNCH_TIME, "by a range of another thread open at the launch"),
        (Basis.TIME, "by time (range open when the op began)"),
        (Basis.OUTSIDE, "outside any range"),
    )
    parts = [f"{counts[basis]:,} {text}" for basis, text in words if counts[basis]]
    return "; ".join(parts) or "no ops"


def _listed(phases: MarkerPhases) -> list[int]:
    facts = phases.facts
    return [
        number
        for number in depth_first(phases.paths)
        if facts[number].occurrences or facts[number].op_count
    ]


def _matches(phases: MarkerPhases, number: int, glob: str) -> bool:
    if not glob:
        return True
    names = phases.tree.names(number)
    return any(fnmatchcase(name, glob) for name in (*names, phases.path_text(number)))


_SCOPE_COLUMNS = {
    PhaseScope.ALL: (),
    PhaseScope.PROCESS: (
        ResultColumn("process", "Process", meaning="process number in the trace"),
        ResultColumn("rank", "Rank", meaning="rank in the parallel job, where there is one"),
    ),
}
_SCOPE_COLUMNS[PhaseScope.THREAD] = (
    *_SCOPE_COLUMNS[PhaseScope.PROCESS],
    ResultColumn("thread", "Thread", meaning="thread that opened the ranges"),
)
_COLUMNS = (
    ResultColumn("path", "Phase", Unit.NAME, "names of the nested ranges, outermost first"),
    ResultColumn("depth", "Depth", Unit.COUNT, "ranges around it"),
    ResultColumn("occurrences", "Times", Unit.COUNT, "ranges merged into this row"),
    ResultColumn("wall_ns", "Wall", Unit.NS, "time during which one of them was open"),
    ResultColumn("mean_ns", "Mean", Unit.NS, "mean duration of a range"),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops of these ranges and those nested in them"),
    ResultColumn("gpu_time_ns", "GPU time", Unit.NS, "union of the ops on each GPU, added up"),
    ResultColumn("gpu_percent", "GPU %", Unit.PERCENT, "GPU time / GPU time of all ops"),
    ResultColumn("own_op_count", "Own ops", Unit.COUNT, "ops in no range nested deeper"),
    ResultColumn("by_time_count", "By time", Unit.COUNT, "ops attributed by time only"),
)


def _phase_table(phases: MarkerPhases, shown: Sequence[int], *, with_outside: bool) -> ResultTable:
    facts = phases.facts
    whole_ns = phases.all_gpu_time_ns
    scope = phases.scope
    ranks = _ranks(phases.trace)
    rows: list[tuple[Value, ...]] = [
        (
            *_scope_values(phases.paths[number], scope, ranks),
            phases.path_text(number),
            phases.paths[number].depth,
            *_numbers(facts[number], whole_ns),
        )
        for number in shown
    ]
    if with_outside and phases.outside_op_count:
        outside_ns = phases.outside_gpu_time_ns
        blank = (None,) * len(_SCOPE_COLUMNS[scope])
        share = 100 * outside_ns / whole_ns if whole_ns else None
        count = phases.outside_op_count
        rows.append(
            (*blank, OUTSIDE, None, None, None, None, count, outside_ns, share, count, None)
        )
    return ResultTable("phases", "Phases", (*_SCOPE_COLUMNS[scope], *_COLUMNS), rows)


def _numbers(facts: PathFacts, whole_ns: int) -> tuple[Value, ...]:
    return (
        facts.occurrences,
        facts.wall_ns,
        facts.range_sum_ns / facts.occurrences if facts.occurrences else None,
        facts.op_count,
        facts.gpu_time_ns,
        100 * facts.gpu_time_ns / whole_ns if whole_ns else None,
        facts.own_op_count,
        facts.by_time_count,
    )


def _kernel_table(
    phases: MarkerPhases,
    kernels: PhaseKernels,
    shown: Sequence[int],
    options: PhaseTableOptions,
) -> ResultTable:
    scope = phases.scope
    ranks = _ranks(phases.trace)
    rows: list[tuple[Value, ...]] = []
    for number in shown:
        place = (*_scope_values(phases.paths[number], scope, ranks), phases.path_text(number))
        rows += kernel_rows(kernels, number, place, options.kernels)
    if not options.marker:
        place = (*(None,) * len(_SCOPE_COLUMNS[scope]), OUTSIDE)
        rows += kernel_rows(kernels, len(phases.paths), place, options.kernels)
    columns = (*_SCOPE_COLUMNS[scope], *KERNEL_COLUMNS)
    return ResultTable("phase_kernels", "Kernels by phase", columns, rows)


def _ranks(trace: Trace) -> dict[int, int]:
    table = trace.processes
    if not len(table):
        return {}
    return dict(zip(table["id"].tolist(), table["rank"].tolist(), strict=True))


def _scope_values(path: Path, scope: PhaseScope, ranks: dict[int, int]) -> tuple[Value, ...]:
    if scope is PhaseScope.ALL:
        return ()
    rank = ranks.get(path.process, UNKNOWN)
    values = (path.process, None if rank == UNKNOWN else rank)
    return values if scope is PhaseScope.PROCESS else (*values, path.thread)
