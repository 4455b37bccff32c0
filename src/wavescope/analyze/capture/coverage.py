"""What captures cover: several side by side to choose one, how much of one is there, and whether
its decoder is to be believed."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.instruction_kinds import CODE_OF, KINDS, WAIT_KINDS, Kind
from wavescope.analyze.capture.stall_types import main_type
from wavescope.analyze.capture.wait_counter_rules import CounterRules
from wavescope.analyze.capture.wait_counters import (
    CounterProgram,
    counter_program,
    find_dependencies,
    sums_by_row,
)
from wavescope.model.capture import Capture, Category, Flags, Integers, Measure, Rows, Waves
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
from wavescope.units import percent_of

_WAVES = 64
"""Waves compared at a time: their lists shall not double the memory of the trace."""
_PIECE = 1 << 18
_MOST_CATEGORIES = 256
_MEMORY = (Category.VMEM, Category.FLAT)
_ROCM = re.compile(r"rocm-(\d+\.\d+(\.\d+)?)")
_MOST_REASONS = 3


def reproduced_dependencies(analysis: CaptureAnalysis) -> tuple[int, int]:
    """How many of the stored lists the model gives too, and how many are stored.

    The model follows the decoder's rules here. A list counts as given when the model has one of
    the same wave, wait and producers at the same place among the lists of its wave.
    """
    stored = analysis.waves.dependencies
    if not len(stored):
        return 0, 0
    program = counter_program(analysis.instructions, analysis.chip.family, CounterRules.DECODER)
    same = sum(
        _same_lists(analysis.waves, program, first, min(first + _WAVES, len(analysis.waves)))
        for first in range(0, len(analysis.waves), _WAVES)
    )
    return same, len(stored)


def _same_lists(waves: Waves, program: CounterProgram, first: int, last: int) -> int:
    """How many stored lists of the waves from `first` to before `last` the model gives too."""
    stored = waves.dependencies
    begin, end = np.searchsorted(stored.wave, [first, last])
    events = slice(int(waves.event_offsets[first]), int(waves.event_offsets[last]))
    row, offsets = waves.row[events], waves.event_offsets[first : last + 1] - events.start
    found = find_dependencies(program, row, offsets)
    found_wave = np.searchsorted(offsets, found.wait_event, side="right") - 1
    model = _signatures(row[found.wait_event], found.producer_offsets, row[found.producer_event])
    bounds = stored.producer_offsets[begin : end + 1]
    files = _signatures(
        stored.wait_row[begin:end],
        bounds - bounds[0],
        stored.producer_row[int(bounds[0]) : int(bounds[-1])],
    )
    model_place = _places(found_wave, last - first)
    file_place = _places(stored.wave[begin:end] - first, last - first)
    pairs = np.searchsorted(model_place, file_place)
    inside = pairs < len(model_place)
    matched = pairs[inside]
    same = (model_place[matched] == file_place[inside]) & (model[matched] == files[inside])
    return int(same.sum())


def _signatures(wait_row: Rows, offsets: Integers, producers: Rows) -> Integers:
    """A number for each list: equal for equal waits with the same producers in any order."""
    mixed = _mixed(producers.astype(np.uint64))
    ends = np.concatenate([np.zeros(1, np.uint64), np.cumsum(mixed, dtype=np.uint64)])
    sums = ends[offsets[1:]] - ends[offsets[:-1]]
    counts = np.diff(offsets).astype(np.uint64)
    with np.errstate(over="ignore"):
        return _mixed(_mixed(sums + counts) + wait_row.astype(np.uint64)).view(np.int64)


def _mixed(
    values: np.ndarray[tuple[int], np.dtype[np.uint64]],
) -> np.ndarray[tuple[int], np.dtype[np.uint64]]:
    """Values spread over all 64 bits, equal ones alike."""
    with np.errstate(over="ignore"):
        values = (values + np.uint64(0x9E3779B97F4A7C15)) * np.uint64(0xBF58476D1CE4E5B9)
        values ^= values >> np.uint64(31)
        return values * np.uint64(0x94D049BB133111EB)


def _places(waves: Integers | Rows, wave_count: int) -> Integers:
    """For each list its wave and its number within the wave, as one sortable number."""
    counts = np.bincount(waves, minlength=wave_count)
    firsts = np.repeat(np.cumsum(counts) - counts, counts)
    return waves.astype(np.int64) * (1 << 32) + (np.arange(len(waves)) - firsts)


_EXPECTED: dict[Kind, tuple[Category, ...]] = {
    Kind.SMEM: (Category.SMEM,),
    Kind.SALU: (Category.SALU,),
    Kind.VMEM_LOAD: (*_MEMORY, Category.BVH),
    Kind.LOAD_TO_LDS: _MEMORY,
    Kind.VMEM_STORE: _MEMORY,
    Kind.ATOMIC: _MEMORY,
    Kind.SCRATCH: _MEMORY,
    Kind.LDS: (Category.LDS,),
    Kind.LDS_ATOMIC: (Category.LDS,),
    Kind.LDS_PERMUTE: (Category.LDS,),
    Kind.VALU: (Category.VALU,),
    Kind.VALU_TRANSCENDENTAL: (Category.VALU,),
    Kind.VALU_PERMUTE: (Category.VALU,),
    Kind.MATRIX: (Category.VALU,),
    Kind.BRANCH: (Category.JUMP_TAKEN, Category.JUMP_NOT_TAKEN, Category.SALU),
    Kind.BARRIER: (Category.IMMEDIATE, Category.MESSAGE),
    **dict.fromkeys(WAIT_KINDS, (Category.IMMEDIATE,)),
}
"""Kinds that are not here may be anything; category NONE may be anything too."""


def disagreeing_events(analysis: CaptureAnalysis) -> int:
    """Executed instructions whose category does not fit their text: another kernel's code?"""
    fits = _fitting()
    waves = analysis.waves
    kinds = np.append(analysis.kind_code, CODE_OF[Kind.OTHER])
    count = 0
    for first in range(0, waves.event_count, _PIECE):
        piece = slice(first, first + _PIECE)
        count += int((~fits[kinds[waves.row[piece]], waves.category[piece]]).sum())
    return count


def _fitting() -> Flags:
    """By kind and category whether they go together."""
    fits = np.ones((len(KINDS), _MOST_CATEGORIES), np.bool_)
    known = [category.value for category in Category if category is not Category.NONE]
    for kind, categories in _EXPECTED.items():
        fits[CODE_OF[kind], known] = False
        fits[CODE_OF[kind], [category.value for category in categories]] = True
    return fits


def capture_coverage(analysis: CaptureAnalysis) -> Result:
    """Facts, table and findings of what a capture covers."""
    facts = _facts(analysis)
    findings = [*_disagreements(analysis, facts), *capture_findings(analysis.capture)]
    return Result("Coverage", [_table(analysis, facts)], findings, facts)


def _facts(analysis: CaptureAnalysis) -> dict[str, Value]:
    """The figures of the capture's coverage by name."""
    capture, instructions = analysis.capture, analysis.instructions
    stall = analysis.total_stall
    has_source = np.array([bool(frames) for frames in instructions.frames] or [False], np.bool_)
    mapped = int(instructions.stall[has_source[instructions.source_code]].sum())
    executed = int(analysis.executed_rows.sum())
    rows = int((~instructions.is_label).sum())
    facts: dict[str, Value] = {
        "executed_row_count": executed,
        "row_count": rows,
        "wave_count": len(capture.waves),
        "expected_wave_count": capture.facts.expected_waves,
        "shader_engine_count": _distinct(
            capture.waves.shader_engine, capture.occupancy.shader_engine
        ),
        "stall_with_source_percent": percent_of(mapped, stall),
        "format_version": capture.facts.format_version or None,
        "toolchain": _toolchain(analysis),
        "is_partial": capture.is_partial,
    }
    if len(capture.waves):
        facts["partial_wave_count"] = int(capture.waves.is_partial.sum())
        facts["row_mismatch_count"] = _mismatches(analysis)
        facts["category_mismatch_count"] = disagreeing_events(analysis)
    same, lists = reproduced_dependencies(analysis)
    if lists:
        facts["dependency_agreement_percent"] = 100 * same / lists
    return facts


def _table(analysis: CaptureAnalysis, facts: dict[str, Value]) -> ResultTable:
    """The same figures as a table with what they mean."""
    unit = "samples" if analysis.instructions.measure is Measure.SAMPLES else "executions"
    words = {
        "executed_row_count": ("executed", f"instructions of the disassembly with {unit}"),
        "row_count": ("instructions", "of the disassembly"),
        "wave_count": ("waves", "whose files were read"),
        "expected_wave_count": ("waves listed", "files that filenames.json names"),
        "shader_engine_count": ("shader engines", "with waves"),
        "stall_with_source_percent": ("stall with source", "of all stall, by instruction"),
        "format_version": ("format", "version that the decoder wrote into the files"),
        "toolchain": ("toolchain", "ROCm version that source paths name"),
        "is_partial": ("partial", "whether data is missing that the capture should have"),
        "partial_wave_count": ("partial waves", "files that end early or hold unusable entries"),
        "row_mismatch_count": (
            "other sums",
            "instructions whose sums in wave files and in code.json differ",
        ),
        "category_mismatch_count": (
            "other category",
            "instructions whose recorded category is not that of their text",
        ),
        "dependency_agreement_percent": (
            "reproduced",
            "share of the stored dependency lists that wavescope's model gives, too",
        ),
    }
    columns: list[ColumnOf[str]] = [
        ResultColumn("what", "What").of(lambda name: words[name][0]),
        ResultColumn("value", "Value").of(lambda name: _spelled(facts[name])),
        ResultColumn("meaning", "Meaning").of(lambda name: words[name][1]),
        ResultColumn("fact", "Fact", meaning="its name among the facts").of(lambda name: name),
    ]
    known = [name for name, value in facts.items() if value is not None]
    return table_of("coverage", "Coverage", columns, known)


def _disagreements(analysis: CaptureAnalysis, facts: dict[str, Value]) -> list[Finding]:
    """Wave files and code.json that are not of one capture; sums of a partial one may differ."""
    rows = int(facts.get("row_mismatch_count") or 0)
    events = int(facts.get("category_mismatch_count") or 0)
    if not events and (not rows or analysis.capture.is_partial):
        return []
    return [
        Finding(
            "waves-and-code-disagree",
            Severity.WARNING,
            "Wave files and code.json do not fit together",
            f"{rows:,} instructions have other sums in the wave files, and {events:,} executed "
            "instructions another category than their text says",
            "are they of one capture? charged stall and timeline follow the wave files",
            numbers={"rows": rows, "events": events},
        )
    ]


def _distinct(*columns: np.ndarray[tuple[int], np.dtype[np.int32]]) -> int:
    return len(np.unique(np.concatenate(columns)))


def _spelled(value: Value) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.1f} %"
    return f"{value:,}" if isinstance(value, int) else str(value)


def _toolchain(analysis: CaptureAnalysis) -> str | None:
    for frames in analysis.instructions.frames:
        for frame in frames:
            if found := _ROCM.search(frame.path):
                return f"ROCm {found[1]}"
    return None


def _mismatches(analysis: CaptureAnalysis) -> int:
    """Rows whose hits or stall are not the sums over the waves."""
    instructions, waves = analysis.instructions, analysis.waves
    hits = sums_by_row(waves.row, None, len(instructions))
    stall = sums_by_row(waves.row, waves.stall, len(instructions))
    differs = (hits != instructions.hits) | (stall != instructions.stall)
    return int((differs & ~instructions.is_label).sum())


def capture_findings(capture: Capture) -> list[Finding]:
    """A finding for everything that is missing, then for everything that was left out or mended."""
    missing = [
        Finding("capture-partial", Severity.WARNING, "The capture is not whole", sentence)
        for sentence in capture.missing
    ]
    odd = [
        Finding("capture-repaired", Severity.INFO, "The capture has oddities", sentence)
        for sentence in capture.repaired
    ]
    return missing + odd


_OVERVIEW_COLUMNS: tuple[ColumnOf[CaptureAnalysis], ...] = (
    ResultColumn("kernel", "Kernel", Unit.NAME).of(
        lambda each: each.capture.kernel_name or each.capture.facts.name
    ),
    ResultColumn("dispatch", "Dispatch", Unit.NONE).of(lambda each: each.capture.facts.dispatch_id),
    ResultColumn("stall", "Stall", Unit.COUNT).of(lambda each: each.total_stall),
    ResultColumn("stall_rate_percent", "Stall rate", Unit.PERCENT, "stall of latency").of(
        lambda each: percent_of(each.total_stall, int(each.instructions.latency.sum()))
    ),
    ResultColumn("type", "Main type", meaning="the type with most of the stall").of(main_type),
    ResultColumn("executed_rows", "Executed", Unit.COUNT, "instructions that ran").of(
        lambda each: int(each.executed_rows.sum())
    ),
    ResultColumn("waves", "Waves", Unit.COUNT, "wave files that are listed").of(
        lambda each: each.capture.facts.expected_waves
    ),
    ResultColumn("is_partial", "Partial").of(lambda each: each.capture.is_partial),
    ResultColumn("path", "Path").of(lambda each: each.capture.facts.path),
)


def capture_overview(captures: Sequence[Capture], unreadable: Sequence[str] = ()) -> Result:
    """One row per capture in the order given; what could not be read becomes a finding."""
    return Result(
        "Captures",
        [table_of("captures", "Captures", _OVERVIEW_COLUMNS, map(CaptureAnalysis, captures))],
        [_unreadable_finding(unreadable)] if unreadable else [],
        {"capture_count": len(captures)},
    )


def _unreadable_finding(reasons: Sequence[str]) -> Finding:
    left = len(reasons) - _MOST_REASONS
    title = "1 capture" if len(reasons) == 1 else f"{len(reasons):,} captures"
    return Finding(
        "capture-unreadable",
        Severity.WARNING,
        f"{title} cannot be read",
        "; ".join(reasons[:_MOST_REASONS]) + (f"; and {left:,} more" if left > 0 else ""),
        numbers={"unreadable": len(reasons)},
    )
