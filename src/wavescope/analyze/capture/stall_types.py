"""Stall and executions by type of instruction; a wait counts for what it waited for."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.instruction_kinds import CODE_OF, KINDS, Kind
from wavescope.model.capture import Codes, Integers, Measure
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit, table_of
from wavescope.units import percent_of

_WAIT_FOR = {
    Kind.VMEM_LOAD: Kind.VMEM_WAIT,
    Kind.LOAD_TO_LDS: Kind.VMEM_WAIT,
    Kind.SCRATCH: Kind.VMEM_WAIT,
    Kind.ATOMIC: Kind.VMEM_WAIT,
    Kind.CACHE: Kind.VMEM_WAIT,
    Kind.VMEM_STORE: Kind.STORE_WAIT,
    Kind.LDS: Kind.LDS_WAIT,
    Kind.LDS_ATOMIC: Kind.LDS_WAIT,
    Kind.LDS_PERMUTE: Kind.LDS_WAIT,
    Kind.SMEM: Kind.SMEM_WAIT,
    Kind.MESSAGE: Kind.SMEM_WAIT,
    Kind.EXPORT: Kind.EXPORT_WAIT,
}
"""What a wait is called by the kind of its producer."""


def wait_kind_codes() -> Codes:
    """For each kind of producer the kind of a wait for it."""
    codes = np.full(len(KINDS), CODE_OF[Kind.MIXED_WAIT], np.uint8)
    for producer, wait in _WAIT_FOR.items():
        codes[CODE_OF[producer]] = CODE_OF[wait]
    return codes


def split_stall(analysis: CaptureAnalysis) -> Integers:
    """Stall by kind, the stall of waits split by the kinds of their producers."""
    charges, kinds = analysis.charges, analysis.kind_code
    own = analysis.instructions.stall - charges.given
    sums = by_kind(kinds, own)
    waited_for = wait_kind_codes()[kinds[charges.producer_row]]
    np.add.at(sums, waited_for, charges.stall)
    return sums


def main_type(analysis: CaptureAnalysis) -> str | None:
    """The type with most of the stall, None where nothing stalls."""
    if not analysis.total_stall:
        return None
    return KINDS[int(np.argmax(split_stall(analysis)))].value


def by_kind(kinds: Codes, values: Integers) -> Integers:
    """Sums of a column of rows by kind."""
    sums = np.zeros(len(KINDS), np.int64)
    np.add.at(sums, kinds, values)
    return sums


def _kinds_by_producer(analysis: CaptureAnalysis) -> Codes:
    """The kind of each row; a wait's by the producer to which most of its stall is charged."""
    charges, kinds = analysis.charges, analysis.kind_code.copy()
    least_first = np.argsort(-charges.stall, kind="stable")[::-1]
    least_first = least_first[charges.stall[least_first] > 0]
    producers = analysis.kind_code[charges.producer_row[least_first]]
    kinds[charges.wait_row[least_first]] = wait_kind_codes()[producers]
    return kinds


def stall_types(analysis: CaptureAnalysis) -> ResultTable:
    """The stall-type breakdown, most stall first; kinds without executed rows are left out.

    The stall of a wait is split among all it waited for; its executions and its issue count once,
    for the producer with most of the stall.
    """
    instructions, kinds = analysis.instructions, _kinds_by_producer(analysis)
    raw, charged = split_stall(analysis), by_kind(analysis.kind_code, analysis.charges.charged)
    latency = raw + by_kind(kinds, instructions.latency - instructions.stall)
    idle = by_kind(kinds, instructions.idle)
    hits = by_kind(kinds, instructions.hits)
    executed = by_kind(kinds, analysis.executed_rows.astype(np.int64))
    total = max(analysis.total_stall, 1)
    columns: list[ColumnOf[int]] = [
        ResultColumn(
            "type", "Type", meaning="what the instructions do; waits by what they waited for"
        ).of(lambda code: KINDS[code].value),
        ResultColumn(
            "stall", "Stall", Unit.COUNT, "cycles in which an instruction could not issue"
        ).of(lambda code: int(raw[code])),
        ResultColumn("stall_percent", "Share", Unit.PERCENT, "of all stall").of(
            lambda code: 100 * int(raw[code]) / total
        ),
        ResultColumn(
            "charged_stall", "Charged", Unit.COUNT, "stall with waits charged to producers"
        ).of(lambda code: int(charged[code])),
        ResultColumn("charged_percent", "Charged share", Unit.PERCENT, "of all stall").of(
            lambda code: 100 * int(charged[code]) / total
        ),
        ResultColumn("stall_rate_percent", "Stall rate", Unit.PERCENT, "stall of latency").of(
            lambda code: percent_of(int(raw[code]), max(int(latency[code]), 0))
        ),
        ResultColumn(
            "latency", "Latency", Unit.COUNT, "cycles from ready to issued or executed"
        ).of(lambda code: int(latency[code])),
        ResultColumn("idle", "Idle", Unit.COUNT, "cycles before them with nothing to issue").of(
            lambda code: int(idle[code])
        ),
        ResultColumn("hits", "Hits", Unit.COUNT, "executions by waves").of(
            lambda code: int(hits[code])
        ),
        ResultColumn("rows", "Instructions", Unit.COUNT, "executed rows of the disassembly").of(
            lambda code: int(executed[code])
        ),
    ]
    shown = [
        code
        for code in np.argsort(-raw, kind="stable").tolist()
        if raw[code] or executed[code] or charged[code]
    ]
    return table_of("stall_types", "Stall by type", columns, shown)


def instruction_mix(analysis: CaptureAnalysis) -> ResultTable | None:
    """Executions by kind, most first; None for PC samples, which count no executions."""
    instructions = analysis.instructions
    if instructions.measure is Measure.SAMPLES or not len(instructions):
        return None
    executed = by_kind(analysis.kind_code, instructions.hits)
    issue = by_kind(analysis.kind_code, np.maximum(instructions.latency - instructions.stall, 0))
    stall = by_kind(analysis.kind_code, instructions.stall)
    total, total_issue = max(int(executed.sum()), 1), max(int(issue.sum()), 1)
    columns: list[ColumnOf[int]] = [
        ResultColumn("type", "Type").of(lambda code: KINDS[code].value),
        ResultColumn("executed", "Executed", Unit.COUNT, "by all traced waves").of(
            lambda code: int(executed[code])
        ),
        ResultColumn("executed_percent", "Share", Unit.PERCENT, "of all executed instructions").of(
            lambda code: 100 * int(executed[code]) / total
        ),
        ResultColumn("issue", "Issue", Unit.COUNT, "cycles of latency without stall").of(
            lambda code: int(issue[code])
        ),
        ResultColumn("issue_percent", "Issue share", Unit.PERCENT, "of all issue cycles").of(
            lambda code: 100 * int(issue[code]) / total_issue
        ),
        ResultColumn("stall", "Stall", Unit.COUNT, "where it shows").of(
            lambda code: int(stall[code])
        ),
        ResultColumn("stall_per_execution", "Stall each", Unit.NONE, "mean").of(
            lambda code: int(stall[code]) / int(executed[code])
        ),
    ]
    ranked = np.argsort(-executed, kind="stable").tolist()
    shown = [code for code in ranked if executed[code]]
    return table_of("instruction_mix", "Instruction mix", columns, shown) if shown else None
