"""What a thread trace covers, so that nobody takes a part for the whole."""

from __future__ import annotations

import re

import numpy as np

from wavescope.analyze.capture.capture_findings import capture_findings
from wavescope.analyze.capture.category_check import disagreeing_events
from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.executed import sums_by_row
from wavescope.analyze.capture.stored_lists import agreement
from wavescope.model.capture import Measure
from wavescope.model.result import Finding, ResultColumn, ResultTable, Severity, Value

_COLUMNS = (
    ResultColumn("what", "What"),
    ResultColumn("value", "Value"),
    ResultColumn("meaning", "Meaning"),
    ResultColumn("fact", "Fact", meaning="its name among the facts"),
)
_ROCM = re.compile(r"rocm-(\d+\.\d+(\.\d+)?)")


def coverage_facts(decoded: DecodedTrace) -> dict[str, Value]:
    """The figures of the trace's coverage by name."""
    trace, instructions = decoded.trace, decoded.instructions
    stall = decoded.total_stall
    has_source = np.array([bool(frames) for frames in instructions.frames] or [False], np.bool_)
    mapped = int(instructions.stall[has_source[instructions.source_code]].sum())
    executed = int(decoded.executed_rows.sum())
    rows = int((~instructions.is_label).sum())
    facts: dict[str, Value] = {
        "executed_row_count": executed,
        "row_count": rows,
        "wave_count": len(trace.waves),
        "expected_wave_count": trace.capture.expected_waves,
        "shader_engine_count": _distinct(trace.waves.shader_engine, trace.occupancy.shader_engine),
        "stall_with_source_percent": 100 * mapped / stall if stall else None,
        "format_version": trace.capture.format_version or None,
        "toolchain": _toolchain(decoded),
        "is_partial": trace.is_partial,
    }
    if len(trace.waves):
        facts["partial_wave_count"] = int(trace.waves.is_partial.sum())
        facts["row_mismatch_count"] = _mismatches(decoded)
        facts["category_mismatch_count"] = disagreeing_events(decoded)
    same, lists = agreement(decoded)
    if lists:
        facts["dependency_agreement_percent"] = 100 * same / lists
    return facts


def coverage_table(decoded: DecodedTrace, facts: dict[str, Value]) -> ResultTable:
    """The same figures as a table with what they mean."""
    unit = "samples" if decoded.instructions.measure is Measure.SAMPLES else "executions"
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
    rows: list[tuple[Value, ...]] = [
        (words[name][0], _spelled(value), words[name][1], name)
        for name, value in facts.items()
        if value is not None
    ]
    return ResultTable("coverage", "Coverage", _COLUMNS, rows)


def coverage_findings(decoded: DecodedTrace, facts: dict[str, Value]) -> list[Finding]:
    """What does not fit together, what is missing, and what was repaired, as findings."""
    return [*_disagreements(decoded, facts), *capture_findings(decoded.trace)]


def _disagreements(decoded: DecodedTrace, facts: dict[str, Value]) -> list[Finding]:
    """Wave files and code.json that are not of one capture; sums of a partial one may differ."""
    rows = int(facts.get("row_mismatch_count") or 0)
    events = int(facts.get("category_mismatch_count") or 0)
    if not events and (not rows or decoded.trace.is_partial):
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


def _toolchain(decoded: DecodedTrace) -> str | None:
    for frames in decoded.instructions.frames:
        for frame in frames:
            if found := _ROCM.search(frame.path):
                return f"ROCm {found[1]}"
    return None


def _mismatches(decoded: DecodedTrace) -> int:
    """Rows whose hits or stall are not the sums over the waves."""
    instructions, waves = decoded.instructions, decoded.waves
    hits = sums_by_row(waves.row, None, len(instructions))
    stall = sums_by_row(waves.row, waves.stall, len(instructions))
    differs = (hits != instructions.hits) | (stall != instructions.stall)
    return int((differs & ~instructions.is_label).sum())
