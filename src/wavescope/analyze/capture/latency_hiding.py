"""How much of the latency of memory operations other work hid, and how much waves waited for."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.source_lines import chain_label
from wavescope.model.capture import Integers, Rows
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_MOST_ROWS = 15
_PIECE = 1 << 18
_COLUMNS = (
    ResultColumn("instruction", "Operation"),
    ResultColumn("waits", "Waits", Unit.COUNT, "that this operation ended"),
    ResultColumn("distance", "Distance", Unit.NONE, "mean cycles from issue to the wait"),
    ResultColumn("matrix_between", "MFMAs between", Unit.NONE, "mean, from issue to the wait"),
    ResultColumn("stall", "Waited", Unit.COUNT, "stall of the waits"),
    ResultColumn("hidden", "Hidden", Unit.COUNT, "cycles in which the wave did other work"),
    ResultColumn("hidden_percent", "Hidden share", Unit.PERCENT, "of issue to end of wait"),
    ResultColumn("exposed", "Exposed", Unit.COUNT, "stall in which the SIMD did nothing at all"),
    ResultColumn("exposed_percent", "Exposed share", Unit.PERCENT, "of the stall of the waits"),
    ResultColumn("source", "Source"),
    ResultColumn("row", "Row", Unit.NONE),
)


def latency_hiding(decoded: DecodedTrace, exposed: Rows) -> ResultTable | None:
    """By operation: distance to its wait, stall, what the wave and its SIMD did meanwhile.

    `exposed` is by event the part of its stall in which no wave of the SIMD issued anything.
    None without wave files: without times there is no distance.
    """
    waves, dependencies = decoded.waves, decoded.dependencies
    if not len(waves) or not len(dependencies):
        return None
    sums = {
        name: np.zeros(len(decoded.instructions), np.int64)
        for name in ("waits", "distance", "between", "stall", "exposed")
    }
    matrix = decoded.events_of(Kind.MATRIX)
    for first in range(0, len(dependencies), _PIECE):
        piece = slice(first, first + _PIECE)
        wait = dependencies.wait_event[piece]
        producer = dependencies.producer_event[dependencies.producer_offsets[1:][piece] - 1]
        stall = decoded.charges.list_stall[piece]
        issued = waves.time[producer] + waves.stall[producer]
        whole = np.maximum(waves.stall[wait].astype(np.int64), 1)
        values = {
            "waits": np.ones(len(wait), np.int64),
            "distance": np.maximum(waves.time[wait] - issued, 0),
            "between": np.searchsorted(matrix, wait) - np.searchsorted(matrix, producer),
            "stall": stall,
            "exposed": exposed[wait].astype(np.int64) * stall // whole,
        }
        for name, cycles in values.items():
            np.add.at(sums[name], waves.row[producer], cycles)
    times = sums["waits"]
    ranked = np.argsort(-sums["stall"], kind="stable")
    ranked = ranked[times[ranked] > 0]
    rows = [_row(decoded, int(each), sums) for each in ranked[:_MOST_ROWS].tolist()]
    return ResultTable(
        "latency_hiding", "Memory latency: hidden and waited for", _COLUMNS, rows, len(ranked)
    )


def _row(decoded: DecodedTrace, row: int, sums: dict[str, Integers]) -> tuple[Value, ...]:
    waits, stall, hidden, exposed = (
        int(sums[name][row]) for name in ("waits", "stall", "distance", "exposed")
    )
    return (
        decoded.instructions.text[row],
        waits,
        hidden / waits,
        int(sums["between"][row]) / waits,
        stall,
        hidden,
        100 * hidden / (hidden + stall) if hidden + stall else None,
        exposed,
        100 * exposed / stall if stall else None,
        chain_label(decoded.instructions.frames_of(row)),
        row,
    )
