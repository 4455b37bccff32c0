"""What captures cover: several side by side to choose one, and how much of one is there."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis, percent_of
from wavescope.analyze.capture.decoder_checks import disagreeing_events, reproduced_dependencies
from wavescope.analyze.capture.executed import sums_by_row
from wavescope.analyze.capture.stall_types import main_type
from wavescope.model.capture import Capture, Measure
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

_ROCM = re.compile(r"rocm-(\d+\.\d+(\.\d+)?)")
_MOST_REASONS = 3


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
        "stall_with_source_percent": 100 * mapped / stall if stall else None,
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
        "row_mismatch_count": ("other sums", "instructions whose waves and code.json differ"),
        "category_mismatch_count": ("other category", "executed, not what the text says"),
        "dependency_agreement_percent": ("reproduced", "stored dependency lists, by the model"),
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
