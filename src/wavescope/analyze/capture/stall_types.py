"""Stall by type of instruction; a wait counts for what it waited for where that is known."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.instruction_kinds import CODE_OF, KINDS, Kind
from wavescope.model.capture import Codes, Integers
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

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
_COLUMNS = (
    ResultColumn("type", "Type", meaning="what the instructions do; waits by what they waited for"),
    ResultColumn("stall", "Stall", Unit.COUNT, "cycles in which an instruction could not issue"),
    ResultColumn("stall_percent", "Share", Unit.PERCENT, "of all stall"),
    ResultColumn("charged_stall", "Charged", Unit.COUNT, "stall with waits charged to producers"),
    ResultColumn("charged_percent", "Charged share", Unit.PERCENT, "of all stall"),
    ResultColumn("stall_rate_percent", "Stall rate", Unit.PERCENT, "stall of latency"),
    ResultColumn("latency", "Latency", Unit.COUNT, "cycles from ready to issued or executed"),
    ResultColumn("idle", "Idle", Unit.COUNT, "cycles before them with nothing to issue"),
    ResultColumn("hits", "Hits", Unit.COUNT, "executions by waves"),
    ResultColumn("rows", "Instructions", Unit.COUNT, "executed rows of the disassembly"),
)


def wait_kind_codes() -> Codes:
    """For each kind of producer the kind of a wait for it."""
    codes = np.full(len(KINDS), CODE_OF[Kind.MIXED_WAIT], np.uint8)
    for producer, wait in _WAIT_FOR.items():
        codes[CODE_OF[producer]] = CODE_OF[wait]
    return codes


def split_stall(decoded: DecodedTrace) -> Integers:
    """Stall by kind, the stall of waits split by the kinds of their producers."""
    charges, kinds = decoded.charges, decoded.kind_code
    own = decoded.instructions.stall - charges.given
    sums = by_kind(kinds, own)
    waited_for = wait_kind_codes()[kinds[charges.producer_row]]
    np.add.at(sums, waited_for, charges.stall)
    return sums


def by_kind(kinds: Codes, values: Integers) -> Integers:
    """Sums of a column of rows by kind."""
    sums = np.zeros(len(KINDS), np.int64)
    np.add.at(sums, kinds, values)
    return sums


def _kinds_by_producer(decoded: DecodedTrace) -> Codes:
    """The kind of each row; a wait's by the producer to which most of its stall is charged."""
    charges, kinds = decoded.charges, decoded.kind_code.copy()
    least_first = np.argsort(-charges.stall, kind="stable")[::-1]
    least_first = least_first[charges.stall[least_first] > 0]
    producers = decoded.kind_code[charges.producer_row[least_first]]
    kinds[charges.wait_row[least_first]] = wait_kind_codes()[producers]
    return kinds


def stall_types(decoded: DecodedTrace) -> ResultTable:
    """The stall-type breakdown, most stall first; kinds without executed rows are left out.

    The stall of a wait is split among all it waited for; its executions and its issue count once,
    for the producer with most of the stall.
    """
    instructions, kinds = decoded.instructions, _kinds_by_producer(decoded)
    raw, charged = split_stall(decoded), by_kind(decoded.kind_code, decoded.charges.charged)
    latency = raw + by_kind(kinds, instructions.latency - instructions.stall)
    idle = by_kind(kinds, instructions.idle)
    hits = by_kind(kinds, instructions.hits)
    rows = by_kind(kinds, decoded.executed_rows.astype(np.int64))
    total = max(decoded.total_stall, 1)
    found: list[tuple[Value, ...]] = []
    for code in np.argsort(-raw, kind="stable").tolist():
        if not (raw[code] or rows[code] or charged[code]):
            continue
        found.append(
            (
                KINDS[code].value,
                int(raw[code]),
                100 * int(raw[code]) / total,
                int(charged[code]),
                100 * int(charged[code]) / total,
                100 * int(raw[code]) / int(latency[code]) if latency[code] > 0 else None,
                int(latency[code]),
                int(idle[code]),
                int(hits[code]),
                int(rows[code]),
            )
        )
    return ResultTable("stall_types", "Stall by type", _COLUMNS, found)
