"""Prefill and decode as a result: the phases, the kernels of each, and the segments with signs."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.phases.kernel_rows import KERNEL_COLUMNS, kernel_rows
from wavescope.analyze.phases.phase_kernels import KernelTime, PhaseKernels
from wavescope.analyze.phases.phase_rules import PhaseRules
from wavescope.analyze.phases.serving_phases import (
    PhaseSegment,
    ServingPhase,
    ServingPhases,
    serving_phases,
)
from wavescope.analyze.steps.step_times import nearest_rank
from wavescope.arrays.group_statistics import group_sums
from wavescope.arrays.interval_union import group_unions_ns
from wavescope.arrays.intervals import lengths_ns
from wavescope.model.result import (
    Finding,
    Result,
    ResultColumn,
    ResultTable,
    Severity,
    Unit,
    Value,
)
from wavescope.model.trace import Trace
from wavescope.names.kernel_meaning import meaning_of
from wavescope.names.kernel_names import short_name

MUCH_UNCLASSIFIED_PERCENT = 20.0
HOW = "by names and structure, no markers used"
_ORDER = (
    ServingPhase.PREFILL,
    ServingPhase.DECODE,
    ServingPhase.SHARED,
    ServingPhase.COMMUNICATION,
    ServingPhase.UNCLASSIFIED,
)


def serving_phases_result(
    trace: Trace, limit: int | None = None, rules: PhaseRules | None = None
) -> Result:
    """Tables `phases`, `phase_kernels` (`limit` kernels of each phase) and `phase_segments`."""
    phases = serving_phases(trace, rules)
    table = _phase_table(trace, phases)
    shares = dict(zip(table.column("path"), table.column("gpu_percent"), strict=True))
    unclassified = float(shares.get("unclassified") or 0.0)
    result = Result(
        "Phases without markers",
        [table, _kernel_table(phases, limit), _segment_table(phases.segments)],
        _findings(unclassified),
    )
    result.facts.update(
        {
            "op_count": len(trace.ops),
            "attribution": HOW,
            "unclassified_percent": unclassified,
            "step_count": sum(len(steps) for steps in phases.steps.of_lane),
        }
    )
    return result


_PHASE_COLUMNS = (
    ResultColumn("path", "Phase", Unit.NAME, "prefill, decode, shared, communication, ..."),
    ResultColumn("steps", "Steps", Unit.COUNT, "steps of the phase on all queues"),
    ResultColumn("step_busy_ns", "Busy / step", Unit.NS, "time covered by a step's ops, median"),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops of the phase"),
    ResultColumn("gpu_time_ns", "GPU time", Unit.NS, "union of the ops on each GPU, added up"),
    ResultColumn("gpu_percent", "GPU %", Unit.PERCENT, "GPU time / that of all phases added up"),
    ResultColumn("confidence", "Confidence", Unit.PERCENT, "how likely that is right, on average"),
)


def _phase_table(trace: Trace, phases: ServingPhases) -> ResultTable:
    ops = trace.ops
    counts = np.bincount(phases.codes, minlength=len(ServingPhase))
    gpu_time_ns = group_unions_ns(
        phases.codes, ops["gpu"], ops["start_ns"], ops["end_ns"], len(ServingPhase)
    )
    whole_ns = sum(gpu_time_ns)
    rows: list[tuple[Value, ...]] = []
    for phase in _ORDER:
        if counts[phase]:
            busy_ns = _step_busy_ns(phases, phase)
            rows.append(
                (
                    phase.name.lower(),
                    int(busy_ns.size) or None,
                    nearest_rank(busy_ns, 50) if busy_ns.size else None,
                    int(counts[phase]),
                    gpu_time_ns[phase],
                    100 * gpu_time_ns[phase] / whole_ns if whole_ns else None,
                    _confidence_percent(phases.segments, phase),
                )
            )
    return ResultTable("phases", "Phases", _PHASE_COLUMNS, rows)


def _step_busy_ns(phases: ServingPhases, phase: ServingPhase) -> npt.NDArray[np.int64]:
    parts = [np.empty(0, np.int64)]
    for steps, codes in zip(phases.steps.of_lane, phases.step_phases, strict=True):
        busy_ns = np.add.reduceat(steps.lane.busy_ns, steps.firsts[:-1])
        parts.append(busy_ns[codes == phase])
    return np.concatenate(parts)


def _confidence_percent(segments: tuple[PhaseSegment, ...], phase: ServingPhase) -> float | None:
    mine = [segment for segment in segments if segment.phase is phase and segment.confidence]
    weight = sum(segment.gpu_time_ns + 1 for segment in mine)
    if not mine:
        return None
    return 100 * sum(s.confidence * (s.gpu_time_ns + 1) for s in mine) / weight


def _kernel_table(phases: ServingPhases, limit: int | None) -> ResultTable:
    kernels = _phase_kernels(phases)
    rows = [
        row for phase in _ORDER for row in kernel_rows(kernels, phase, (phase.name.lower(),), limit)
    ]
    return ResultTable("phase_kernels", "Kernels by phase", KERNEL_COLUMNS, rows)


def _phase_kernels(phases: ServingPhases) -> PhaseKernels:
    """The kernels of each phase, in the place of paths."""
    lanes = phases.steps.lanes
    names = [short_name(text) for text in lanes.texts]
    meanings = {name: meaning_of(text) for text, name in zip(lanes.texts, names, strict=True)}
    distinct = list(meanings)
    number = {name: index for index, name in enumerate(distinct)}
    name_of_label = np.array([number[name] for name in names], np.int64)
    width = len(distinct)
    by_phase: list[dict[int, KernelTime]] = [{} for _ in ServingPhase]
    for lane in lanes.lanes:
        cells = phases.codes[lane.rows].astype(np.int64) * width + name_of_label[lane.labels]
        counts = np.bincount(cells, minlength=len(ServingPhase) * width)
        totals = group_sums(cells, lengths_ns(lane.starts, lane.ends), counts.size)
        for cell in np.flatnonzero(counts).tolist():
            phase, name = divmod(cell, width)
            known = by_phase[phase].get(name, KernelTime(0, 0))
            by_phase[phase][name] = KernelTime(
                known.calls + int(counts[cell]), known.total_ns + totals[cell]
            )
    return PhaseKernels(distinct, list(meanings.values()), by_phase)


_SEGMENT_COLUMNS = (
    ResultColumn("gpu", "GPU", meaning="GPU number in the trace"),
    ResultColumn("queue", "Queue", meaning="queue (or stream) of the GPU"),
    ResultColumn("process", "Process", meaning="process number in the trace"),
    ResultColumn("phase", "Phase", Unit.NAME, "phase of the steps"),
    ResultColumn("start_ns", "Start", Unit.TIME, "start of the first op"),
    ResultColumn("end_ns", "End", Unit.TIME, "end of the last op"),
    ResultColumn("steps", "Steps", Unit.COUNT, "steps that follow one another"),
    ResultColumn("op_count", "Ops", Unit.COUNT, "ops of these steps"),
    ResultColumn("gpu_time_ns", "GPU time", Unit.NS, "time covered by these ops"),
    ResultColumn("confidence", "Confidence", Unit.PERCENT, "how likely the phase is right"),
    ResultColumn("signs", "Signs", Unit.NAME, "what speaks for prefill (+) and for decode (-)"),
)


def _segment_table(segments: tuple[PhaseSegment, ...]) -> ResultTable:
    rows: list[tuple[Value, ...]] = [
        (
            segment.gpu,
            segment.queue,
            segment.process if segment.process >= 0 else None,
            segment.phase.name.lower(),
            segment.start_ns,
            segment.end_ns,
            segment.step_count,
            segment.op_count,
            segment.gpu_time_ns,
            100 * segment.confidence if segment.confidence else None,
            ", ".join(f"{name} {value:+.1f}" for name, value in segment.signs.items() if value),
        )
        for segment in segments
    ]
    return ResultTable("phase_segments", "Segments", _SEGMENT_COLUMNS, rows)


def _findings(unclassified_percent: float) -> list[Finding]:
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
