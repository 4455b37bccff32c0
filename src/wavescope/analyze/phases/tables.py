"""The tables of phases: of marked ones here, one row for each path, and the kernels of each."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple, Protocol

from wavescope.analyze.markers import Basis, has_markers
from wavescope.analyze.ops.coverage import recorded, sampled_facts, sampled_finding
from wavescope.analyze.ops.recorded import kernels_part
from wavescope.analyze.phases.annotations import MOST_DISAGREEMENT, agreement, batch_tokens
from wavescope.analyze.phases.assignment import (
    OUTSIDE,
    PhaseAssignment,
    PhaseOptions,
    PhaseSource,
    phases_of,
)
from wavescope.analyze.phases.found_tables import found_result
from wavescope.analyze.phases.insights import insight_tables
from wavescope.analyze.phases.kernels import (
    KERNEL_COLUMNS,
    PhaseKernel,
    PhaseKernels,
    kernels_of_phase,
    phase_kernels,
)
from wavescope.analyze.phases.marked import MarkedPhases, PathFacts, marked_phases
from wavescope.analyze.phases.paths import NOWHERE, Path, PhasePlace, PhaseScope
from wavescope.analyze.phases.sampled_phases import NOT_FOUND, phase_estimates
from wavescope.model.columns import UNKNOWN
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
from wavescope.patterns import compiled
from wavescope.units import percent_of


def phases_result(trace: Trace, options: PhaseOptions | None = None) -> Result:
    """Tables `phases` and `phase_kernels`, of found phases `phase_segments` too; how ops were
    attributed as facts."""
    options = options or PhaseOptions()
    found = recorded(trace)
    if found is None:
        return _phases_result(trace, options)
    phases = phases_of(trace, use_markers=options.use_markers)
    result = _phases_result(kernels_part(trace), options)
    tables = [replace(table, title=f"{table.title} (in slices)") for table in result.tables]
    return replace(
        result,
        tables=[phase_estimates(trace, found, phases), *tables],
        findings=[*sampled_finding(trace), NOT_FOUND, *result.findings],
        facts={**sampled_facts(trace), **result.facts},
    )


def _phases_result(trace: Trace, options: PhaseOptions) -> Result:
    if options.means_markers and has_markers(trace):
        marked = marked_phases(trace, options.scope, merge_numbers=options.merge_numbers)
        if len(marked.found.host):
            return _marked_result(marked, options)
    phases = phases_of(trace, use_markers=options.use_markers, rules=options.phase_rules)
    range_count = 0 if phases.marked is None else len(phases.marked.found.host)
    if phases.marked is not None and range_count and phases.source is not PhaseSource.STRUCTURE:
        result = _marked_result(phases.marked, options)
        return result.with_facts(_annotation_facts(trace, phases)).with_findings(
            _disagreement_findings(trace, phases)
        )
    result = found_result(trace, phases, options)
    if not options.use_markers:
        return result
    return result.with_facts({"range_count": range_count, **_annotation_facts(trace, phases)})


def _annotation_facts(trace: Trace, phases: PhaseAssignment) -> dict[str, Value]:
    """What engines wrote of their batches, and how far markers agree with structure."""
    if phases.marked is None:
        return {}
    facts: dict[str, Value] = {}
    tokens = batch_tokens(trace.strings[code] for code in phases.marked.found.host.names.tolist())
    if tokens.prompt_percent is not None:
        facts["annotated_prompt_tokens"] = tokens.prompt
        facts["annotated_decode_tokens"] = tokens.decode
        facts["annotated_prompt_percent"] = tokens.prompt_percent
    if phases.found is not None:
        alike = agreement(phases.marked, phases.found.phase_codes, trace.op_length_ns)
        if alike is not None:
            facts["marker_agreement_percent"] = 100 * alike
    return facts


def _disagreement_findings(trace: Trace, phases: PhaseAssignment) -> list[Finding]:
    """Where markers and structure tell different phases, markers are shown, and that is said."""
    if phases.marked is None or phases.found is None:
        return []
    alike = agreement(phases.marked, phases.found.phase_codes, trace.op_length_ns)
    if alike is None or alike >= 1 - MOST_DISAGREEMENT:
        return []
    return [
        Finding(
            "phases-disagree",
            Severity.INFO,
            f"markers and the structure of steps agree on {100 * alike:.0f} % of the GPU time",
            "of what both take for prefill or decode; the markers' phases are shown",
            "`--without-markers` shows what structure tells, and why (`--table phase_segments`)",
            numbers={"agreement_percent": 100 * alike},
        )
    ]


def _marked_result(phases: MarkedPhases, options: PhaseOptions) -> Result:
    shown = [number for number in _listed(phases) if _matches(phases, number, options.marker)]
    counts = phases.basis_counts
    kernels = phase_kernels(
        phases.trace, phases.tree, phases.path_of_op, options.rules, full_names=options.full_names
    )
    return Result(
        "Phases",
        [
            _marked_table(phases, shown, with_outside=not options.marker),
            _marked_kernel_table(phases, kernels, shown, options),
            *([] if options.marker else insight_tables(kernels, phases.tree)),
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
    phases: MarkedPhases, kernels: PhaseKernels, shown: Sequence[int], options: PhaseOptions
) -> ResultTable:
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
