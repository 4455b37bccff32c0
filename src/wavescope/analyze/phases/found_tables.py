"""The tables of found phases: what each did, how sure that is, its kernels and segments."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.phases.assignment import (
    UNCLASSIFIED,
    PhaseAssignment,
    PhaseOptions,
)
from wavescope.analyze.phases.found import FoundPhase, FoundPhases, PhaseSegment, found_phases
from wavescope.analyze.phases.insights import insight_tables
from wavescope.analyze.phases.kernels import (
    KERNEL_COLUMNS,
    PhaseKernels,
    kernels_of_phase,
    phase_kernels,
)
from wavescope.arrays.groups import nearest_rank
from wavescope.arrays.interval_union import group_unions_ns
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
from wavescope.model.trace import Trace
from wavescope.units import percent_of

MUCH_UNCLASSIFIED_PERCENT = 20.0
BY_STRUCTURE = "by names and structure, no markers used"

_SHOWN = (FoundPhase.PREFILL, FoundPhase.DECODE, FoundPhase.SHARED, FoundPhase.UNCLASSIFIED)


def found_result(trace: Trace, phases: PhaseAssignment, options: PhaseOptions) -> Result:
    """Tables `phases`, `phase_kernels` and `phase_segments` of phases told by structure."""
    found = phases.found or found_phases(trace, options.phase_rules)
    table = _found_table(trace, found)
    shares = dict(zip(table.column("path"), table.column("gpu_percent"), strict=True))
    unclassified = float(shares.get(UNCLASSIFIED) or 0.0)
    kernels = phase_kernels(
        trace, phases.tree, phases.path_of_op, options.rules, full_names=options.full_names
    )
    return Result(
        "Phases without markers",
        [
            table,
            _found_kernel_table(kernels, phases, options),
            _segment_table(found.segments),
            *insight_tables(kernels, phases.tree),
        ],
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
    ResultColumn("path", "Phase", Unit.NAME, "prefill, decode, mixed or unclassified").of(
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
    kernels: PhaseKernels, phases: PhaseAssignment, options: PhaseOptions
) -> ResultTable:
    labels = [*(path.name for path in phases.tree.paths), UNCLASSIFIED]
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
            f"{unclassified_percent:.0f} % of the GPU time could not be recognised as prefill "
            "or decode",
            "neither kernel names nor the structure of the steps say it",
            "mark phases with roctx ranges, or add rules for your kernels (docs/serving-phases.md)",
            numbers={"unclassified_percent": unclassified_percent},
        )
    ]
