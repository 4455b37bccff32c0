"""How close matrix instructions follow one another, against how close they could."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.arrays.intervals import Intervals
from wavescope.model.capture import Integers, Rows, Waves
from wavescope.model.chips.matrix_cycles import matrix_cycles
from wavescope.model.result import ResultColumn, ResultTable, Unit, Value

_COLUMNS = (
    ResultColumn("instruction", "Instruction", meaning="mnemonic"),
    ResultColumn("executed", "Executed", Unit.COUNT),
    ResultColumn("cycles", "Cycles", Unit.COUNT, "one keeps the matrix unit of its SIMD busy"),
    ResultColumn("usual_gap", "Usual gap", Unit.COUNT, "most frequent, from issue to next issue"),
    ResultColumn("median_gap", "Median gap", Unit.COUNT, "within one wave"),
    ResultColumn("rate_percent", "Rate", Unit.PERCENT, "cycles of the mean gap: 100 is the best"),
)
_UNIT_COLUMNS = (
    ResultColumn("simd", "SIMD"),
    ResultColumn("waves", "Waves", Unit.COUNT),
    ResultColumn("busy_cycles", "Matrix cycles", Unit.COUNT, "executed instructions x cycles"),
    ResultColumn("lifetime", "With waves", Unit.COUNT, "cycles in which the SIMD had a wave"),
    ResultColumn("busy_percent", "Matrix busy", Unit.PERCENT),
)


def matrix_tables(decoded: DecodedTrace) -> list[ResultTable]:
    """Gaps by instruction, and how busy the matrix unit of each SIMD was; none without waves."""
    waves = decoded.waves
    events = decoded.events_of(Kind.MATRIX) if len(waves) else np.empty(0, np.int32)
    if not len(events):
        return []
    cycles = cycles_by_row(decoded)
    return [
        ResultTable(
            "matrix_rate",
            "Matrix instructions: how close they follow one another",
            _COLUMNS,
            _rates(decoded, events, cycles),
        ),
        ResultTable(
            "matrix_busy",
            "Matrix unit of each SIMD",
            _UNIT_COLUMNS,
            _busy_rows(waves, events, cycles),
        ),
    ]


def cycles_by_row(decoded: DecodedTrace) -> Integers:
    """How long a row's matrix instruction takes, 0 where the table does not say."""
    cycles = np.zeros(len(decoded.instructions), np.int64)
    known: dict[str, int] = {}
    for row in np.flatnonzero(decoded.is_of(Kind.MATRIX)).tolist():
        text = decoded.instructions.text[row]
        if text not in known:
            known[text] = matrix_cycles(decoded.chip.name, text) or 0
        cycles[row] = known[text]
    return cycles


def _rates(decoded: DecodedTrace, events: Rows, cycles: Integers) -> list[tuple[Value, ...]]:
    """Gaps between an instruction and the next matrix instruction of the same wave."""
    waves = decoded.waves
    issue = waves.time[events] + waves.stall[events]
    wave = waves.wave_of_event[events]
    is_followed = wave[1:] == wave[:-1]
    gap = (issue[1:] - issue[:-1])[is_followed]
    row = waves.row[events]
    mnemonic = decoded.instructions.mnemonic_code[row]
    of_gap = mnemonic[:-1][is_followed]
    rows: list[tuple[Value, ...]] = []
    for code in np.unique(mnemonic).tolist():
        own = np.sort(gap[of_gap == code])
        member = row[mnemonic == code]
        takes = np.unique(cycles[member])
        one = int(takes[-1]) if len(takes) == 1 and takes[-1] else None
        rows.append(
            (
                decoded.instructions.mnemonics[code],
                len(member),
                one,
                _most_frequent(own),
                int(own[(len(own) - 1) // 2]) if len(own) else None,
                100 * one / float(own.mean()) if one and len(own) and own.mean() > 0 else None,
            )
        )
    return sorted(rows, key=lambda found: -int(found[1] or 0))


def _most_frequent(ordered: Integers) -> int | None:
    if not len(ordered):
        return None
    values, counts = np.unique(ordered, return_counts=True)
    return int(values[counts.argmax()])


def _busy_rows(waves: Waves, events: Rows, cycles: Integers) -> list[tuple[Value, ...]]:
    places = np.stack([waves.shader_engine, waves.cu, waves.simd], axis=1)
    units, unit_of_wave = np.unique(places, axis=0, return_inverse=True)
    unit_of_wave = unit_of_wave.reshape(-1)
    busy = np.zeros(len(units), np.int64)
    np.add.at(busy, unit_of_wave[waves.wave_of_event[events]], cycles[waves.row[events]])
    rows: list[tuple[Value, ...]] = []
    for unit, (engine, cu, simd) in enumerate(units.tolist()):
        own = unit_of_wave == unit
        ends = np.maximum(waves.end[own], waves.begin[own])
        lifetime = Intervals.from_pairs(waves.begin[own], ends).total_ns
        share = 100 * int(busy[unit]) / lifetime if lifetime else None
        rows.append(
            (f"SE{engine} CU{cu} SIMD{simd}", int(own.sum()), int(busy[unit]), lifetime, share)
        )
    return rows
