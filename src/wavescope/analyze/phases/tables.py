"""The tables of phases: of marked ones one row for each path, of found ones one for each phase with
how sure that is; and the kernels of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from wavescope.analyze.markers import Basis, has_markers
from wavescope.analyze.phases.assignment import (
    OUTSIDE,
    UNCLASSIFIED,
    PhaseAssignment,
    PhaseSource,
    phases_of,
)
from wavescope.analyze.phases.found import FoundPhase, FoundPhases, PhaseSegment, found_phases
from wavescope.analyze.phases.kernels import (
    KERNEL_COLUMNS,
    PhaseKernel,
    kernels_of_phase,
    phase_kernels,
)
from wavescope.analyze.phases.marked import MarkedPhases, PathFacts, marked_phases
from wavescope.analyze.phases.name_signs import PhaseRules
from wavescope.analyze.phases.paths import NOWHERE, Path, PhasePlace, PhaseScope
from wavescope.arrays.groups import nearest_rank
from wavescope.arrays.interval_union import group_unions_ns
from wavescope.model.columns import UNKNOWN
from wavescope.model.op_kinds import OpKind
from wavescope.model.result import (
    ColumnOf,
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    table_of,
)
from wavescope.model.selection import compiled
from wavescope.model.trace import Trace
from wavescope.names.kernel_names import CategoryRules
from wavescope.units import percent_of

MUCH_UNCLASSIFIED_PERCENT = 20.0
BY_STRUCTURE = "by names and structure, no markers used"


@dataclass(frozen=True)
class PhaseOptions:
    """What to show of the phases, and what they are told by.

    Who asks for a scope, for numbers or for a marker asks for marked phases, whatever they cover.
    """

    scope: PhaseScope = PhaseScope.ALL
    """What marked phases are kept apart by."""
    merge_numbers: bool = True
    """Whether `step 1` and `step 2` are one phase."""
    marker: str = ""
    """A regular expression: only paths in which a name, or which as a whole, match it."""
    use_markers: bool = True
    """Whether markers count at all."""
    kernels: int | None = None
    """Kernels listed for each phase; all by default."""
    full_names: bool = False
    rules: CategoryRules | None = None
    """What kernels are called and what they are."""
    phase_rules: PhaseRules | None = None
    """What kernel names say of phases."""

    @property
    def means_markers(self) -> bool:
        """Whether marked phases are asked for."""
        asked = self.marker or self.scope is not PhaseScope.ALL or not self.merge_numbers
        return self.use_markers and bool(asked)


def phases_result(trace: Trace, options: PhaseOptions | None = None) -> Result:
    """Tables `phases` and `phase_kernels`, of found phases `phase_segments` too; how ops were
    attributed as facts."""
    options = options or PhaseOptions()
    if options.means_markers and has_markers(trace):
        marked = marked_phases(trace, options.scope, merge_numbers=options.merge_numbers)
        if len(marked.found.host):
            return _marked_result(marked, options)
    phases = phases_of(trace, use_markers=options.use_markers, rules=options.phase_rules)
    range_count = 0 if phases.marked is None else len(phases.marked.found.host)
    if phases.marked is not None and range_count and phases.source is not PhaseSource.STRUCTURE:
        return _marked_result(phases.marked, options)
    result = _found_result(trace, phases, options)
    return result.with_facts({"range_count": range_count}) if options.use_markers else result


def _marked_result(phases: MarkedPhases, options: PhaseOptions) -> Result:
    shown = [number for number in _listed(phases) if _matches(phases, number, options.marker)]
    counts = phases.basis_counts
    return Result(
        "Phases",
        [
            _marked_table(phases, shown, with_outside=not options.marker),
            _marked_kernel_table(phases, shown, options),
        ],
        facts={
            "op_count": sum(counts.values()),
            "source": PhaseSource.MARKERS.value,
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


def _listed(phases: MarkedPhases) -> list[int]:
    facts = phases.facts
    return [
        number
        for number in phases.tree.depth_first()
        if facts[number].occurrences or facts[number].op_count
    ]


def _matches(phases: MarkedPhases, number: int, marker: str) -> bool:
    if not marker:
        return True
    expression = compiled(marker)
    names = (*phases.tree.names(number), phases.tree.text(number))
    return any(expression.search(name) for name in names)


class _Placed(Protocol):
    @property
    def place(self) -> PhasePlace: ...


_PROCESS_COLUMNS: tuple[ColumnOf[_Placed], ...] = (
    ResultColumn("process", "Process", meaning="process number in the trace").of(
        lambda row: row.place.process
    ),
    ResultColumn("rank", "Rank", meaning="rank in the parallel job, where there is one").of(
        lambda row: row.place.rank
    ),
)
_THREAD_COLUMN: ColumnOf[_Placed] = ResultColumn(
    "thread", "Thread", meaning="thread that opened the ranges"
).of(lambda row: row.place.thread)
_PLACE_COLUMNS: dict[PhaseScope, tuple[ColumnOf[_Placed], ...]] = {
    PhaseScope.ALL: (),
    PhaseScope.PROCESS: _PROCESS_COLUMNS,
    PhaseScope.THREAD: (*_PROCESS_COLUMNS, _THREAD_COLUMN),
}


def _places(phases: MarkedPhases) -> list[PhasePlace]:
    """The place of every path."""
    table = phases.trace.processes
    ranks = dict(zip(table["id"].tolist(), table["rank"].tolist(), strict=True))
    return [_place(path, ranks.get(path.process, UNKNOWN)) for path in phases.paths]


def _place(path: Path, rank: int) -> PhasePlace:
    return PhasePlace(path.process, None if rank == UNKNOWN else rank, path.thread)


class _Phase(NamedTuple):
    """A row of the table of marked phases; of what is outside any, little is known."""

    place: PhasePlace
    path: str
    depth: int | None
    facts: PathFacts
    whole_ns: int
    is_outside: bool = False

    @property
    def mean_ns(self) -> float | None:
        facts = self.facts
        return facts.range_sum_ns / facts.occurrences if facts.occurrences else None


_MARKED_COLUMNS: tuple[ColumnOf[_Phase], ...] = (
    ResultColumn("path", "Phase", Unit.NAME, "names of the nested ranges, outermost first").of(
        lambda row: row.path
    ),
    ResultColumn("depth", "Depth", Unit.COUNT, "ranges around it").of(lambda row: row.depth),
    ResultColumn("occurrences", "Times", Unit.COUNT, "ranges merged into this row").of(
        lambda row: None if row.is_outside else row.facts.occurrences
    ),
    ResultColumn("wall_ns", "Wall", Unit.NS, "time during which one of them was open").of(
        lambda row: None if row.is_outside else row.facts.wall_ns
    ),
    ResultColumn("mean_ns", "Mean", Unit.NS, "mean duration of a range").of(
        lambda row: row.mean_ns
    ),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops of these ranges and those nested in them").of(
        lambda row: row.facts.op_count
    ),
    ResultColumn("gpu_time_ns", "GPU time", Unit.NS, "union of the ops on each GPU, added up").of(
        lambda row: row.facts.gpu_time_ns
    ),
    ResultColumn("gpu_percent", "GPU %", Unit.PERCENT, "GPU time / GPU time of all ops").of(
        lambda row: percent_of(row.facts.gpu_time_ns, row.whole_ns)
    ),
    ResultColumn("own_op_count", "Own ops", Unit.COUNT, "ops in no range nested deeper").of(
        lambda row: row.facts.own_op_count
    ),
    ResultColumn("by_time_count", "By time", Unit.COUNT, "ops attributed by time only").of(
        lambda row: None if row.is_outside else row.facts.by_time_count
    ),
)


def _marked_table(phases: MarkedPhases, shown: Sequence[int], *, with_outside: bool) -> ResultTable:
    facts, places, whole_ns = phases.facts, _places(phases), phases.all_gpu_time_ns
    rows = [
        _Phase(
            places[number],
            phases.tree.text(number),
            phases.paths[number].depth,
            facts[number],
            whole_ns,
        )
        for number in shown
    ]
    if with_outside and phases.outside_op_count:
        count = phases.outside_op_count
        outside = PathFacts(0, 0, 0, count, count, phases.outside_gpu_time_ns, 0)
        rows.append(_Phase(NOWHERE, OUTSIDE, None, outside, whole_ns, is_outside=True))
    columns: list[ColumnOf[_Phase]] = [*_PLACE_COLUMNS[phases.scope], *_MARKED_COLUMNS]
    return table_of("phases", "Phases", columns, rows)


def _marked_kernel_table(
    phases: MarkedPhases, shown: Sequence[int], options: PhaseOptions
) -> ResultTable:
    kernels = phase_kernels(
        phases.trace,
        phases.tree,
        phases.path_of_op,
        options.rules,
        full_names=options.full_names,
    )
    places = _places(phases)
    listed = [(places[number], phases.tree.text(number), number) for number in shown]
    if not options.marker:
        listed.append((NOWHERE, OUTSIDE, len(phases.paths)))
    rows = [
        kernel
        for place, phase, number in listed
        for kernel in kernels_of_phase(kernels, number, phase, options.kernels, place)
    ]
    columns: list[ColumnOf[PhaseKernel]] = [*_PLACE_COLUMNS[phases.scope], *KERNEL_COLUMNS]
    return table_of("phase_kernels", "Kernels by phase", columns, rows)


_SHOWN = (FoundPhase.PREFILL, FoundPhase.DECODE, FoundPhase.SHARED, FoundPhase.UNCLASSIFIED)


def _found_result(trace: Trace, phases: PhaseAssignment, options: PhaseOptions) -> Result:
    found = phases.found or found_phases(trace, options.phase_rules)
    table = _found_table(trace, found)
    shares = dict(zip(table.column("path"), table.column("gpu_percent"), strict=True))
    unclassified = float(shares.get(UNCLASSIFIED) or 0.0)
    return Result(
        "Phases without markers",
        [table, _found_kernel_table(trace, phases, options), _segment_table(found.segments)],
        _unclassified_findings(unclassified),
        {
            "op_count": len(trace.ops),
            "source": phases.source.value,
            "attribution": BY_STRUCTURE,
            "unclassified_percent": unclassified,
            "step_count": sum(len(steps) for steps in found.steps.of_lane),
        },
    )


class _FoundRow(NamedTuple):
    phase: FoundPhase
    step_busy_ns: npt.NDArray[np.int64]
    op_count: int
    gpu_time_ns: int
    whole_ns: int
    confidence_percent: float | None


_FOUND_COLUMNS: tuple[ColumnOf[_FoundRow], ...] = (
    ResultColumn("path", "Phase", Unit.NAME, "prefill, decode, shared or unclassified").of(
        lambda row: row.phase.label
    ),
    ResultColumn("steps", "Steps", Unit.COUNT, "steps of the phase on all queues").of(
        lambda row: int(row.step_busy_ns.size) or None
    ),
    ResultColumn("step_busy_ns", "Busy / step", Unit.NS, "time covered by a step's ops, median").of(
        lambda row: nearest_rank(row.step_busy_ns, 50) if row.step_busy_ns.size else None
    ),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops of the phase").of(lambda row: row.op_count),
    ResultColumn("gpu_time_ns", "GPU time", Unit.NS, "union of the ops on each GPU, added up").of(
        lambda row: row.gpu_time_ns
    ),
    ResultColumn("gpu_percent", "GPU %", Unit.PERCENT, "GPU time / that of all phases added up").of(
        lambda row: percent_of(row.gpu_time_ns, row.whole_ns)
    ),
    ResultColumn(
        "confidence", "Confidence", Unit.PERCENT, "how likely that is right, on average"
    ).of(lambda row: row.confidence_percent),
)


def _found_table(trace: Trace, found: FoundPhases) -> ResultTable:
    working = trace.op_kind != OpKind.BARRIER
    codes = found.phase_codes[working]
    gpus, starts, ends = (trace.ops[name][working] for name in ("gpu", "start_ns", "end_ns"))
    counts = np.bincount(codes, minlength=len(FoundPhase)).tolist()
    gpu_time_ns = group_unions_ns(codes, gpus, starts, ends, len(FoundPhase))
    rows = [
        _FoundRow(
            phase,
            _step_busy_ns(found, phase),
            counts[phase],
            gpu_time_ns[phase],
            sum(gpu_time_ns),
            _confidence_percent(found.segments, phase),
        )
        for phase in _SHOWN
        if counts[phase]
    ]
    return table_of("phases", "Phases", _FOUND_COLUMNS, rows)


def _step_busy_ns(found: FoundPhases, phase: FoundPhase) -> npt.NDArray[np.int64]:
    parts = [np.empty(0, np.int64)]
    for steps, codes in zip(found.steps.of_lane, found.step_phases, strict=True):
        parts.append(steps.busy_ns[codes == phase])
    return np.concatenate(parts)


def _confidence_percent(segments: tuple[PhaseSegment, ...], phase: FoundPhase) -> float | None:
    mine = [segment for segment in segments if segment.phase is phase and segment.confidence]
    weight = sum(segment.gpu_time_ns + 1 for segment in mine)
    if not mine:
        return None
    return 100 * sum(s.confidence * (s.gpu_time_ns + 1) for s in mine) / weight


def _found_kernel_table(
    trace: Trace, phases: PhaseAssignment, options: PhaseOptions
) -> ResultTable:
    tree = phases.tree
    kernels = phase_kernels(
        trace, tree, phases.path_of_op, options.rules, full_names=options.full_names
    )
    labels = [*(path.name for path in tree.paths), UNCLASSIFIED]
    rows = [
        row
        for number, label in enumerate(labels)
        for row in kernels_of_phase(kernels, number, label, options.kernels)
    ]
    return table_of("phase_kernels", "Kernels by phase", KERNEL_COLUMNS, rows)


_SEGMENT_COLUMNS: tuple[ColumnOf[PhaseSegment], ...] = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace").of(lambda row: row.gpu),
    ResultColumn("queue", "Queue", meaning="queue (or stream) of the GPU").of(
        lambda row: row.queue
    ),
    ResultColumn("process", "Process", meaning="process number in the trace").of(
        lambda row: row.process if row.process >= 0 else None
    ),
    ResultColumn("phase", "Phase", Unit.NAME, "phase of the steps").of(lambda row: row.phase.label),
    ResultColumn("start_ns", "Start", Unit.TIME, "start of the first op").of(
        lambda row: row.start_ns
    ),
    ResultColumn("end_ns", "End", Unit.TIME, "end of the last op").of(lambda row: row.end_ns),
    ResultColumn("steps", "Steps", Unit.COUNT, "steps that follow one another").of(
        lambda row: row.step_count
    ),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops of these steps").of(lambda row: row.op_count),
    ResultColumn("gpu_time_ns", "GPU time", Unit.NS, "time covered by these ops").of(
        lambda row: row.gpu_time_ns
    ),
    ResultColumn("confidence", "Confidence", Unit.PERCENT, "how likely the phase is right").of(
        lambda row: 100 * row.confidence if row.confidence else None
    ),
    ResultColumn("signs", "Signs", Unit.NAME, "what speaks for prefill (+) and for decode (-)").of(
        lambda row: ", ".join(f"{sign} {value:+.1f}" for sign, value in row.signs.items() if value)
    ),
)


def _segment_table(segments: tuple[PhaseSegment, ...]) -> ResultTable:
    return table_of("phase_segments", "Segments", _SEGMENT_COLUMNS, segments)


def _unclassified_findings(unclassified_percent: float) -> list[Finding]:
    if unclassified_percent < MUCH_UNCLASSIFIED_PERCENT:
        return []
    return [
        Finding(
            "phases-unclassified",
            Severity.INFO,
            f"{unclassified_percent:.0f} % of the GPU time could not be told to be prefill or "
            "decode",
            "neither kernel names nor the structure of the steps say it",
            "mark phases with roctx ranges, or add rules for your kernels (docs/serving-phases.md)",
            numbers={"unclassified_percent": unclassified_percent},
        )
    ]
