"""How the waves of a traced kernel ran: spread, gaps, matrix rate, and all other tables of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis, first_rows
from wavescope.analyze.capture.barriers import barrier_table
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.kernel_occupancy import (
    measured_facts,
    occupancy_over_time,
    traced_occupancy,
)
from wavescope.analyze.capture.latency_hiding import exposed_stalls, issue_gaps, latency_hiding
from wavescope.analyze.capture.source_lines import chain_label
from wavescope.analyze.capture.stall_types import instruction_mix
from wavescope.arrays.intervals import Intervals
from wavescope.model.capture import Integers, Rows, Waves
from wavescope.model.result import (
    ColumnOf,
    Result,
    ResultColumn,
    ResultTable,
    Unit,
    Value,
    table_of,
)
from wavescope.units import percent_of

_MOST_WAVES = 10
_MOST_GAPS = 15


def wave_behaviour(analysis: CaptureAnalysis) -> Result:
    """Spread, mix, gaps, barriers, matrix rate, hidden latency and occupancy of one capture."""
    has_waves = len(analysis.waves) > 0
    tables: list[ResultTable | None] = [
        *wave_spread(analysis),
        instruction_mix(analysis),
        gap_table(analysis),
        barrier_table(analysis),
        *matrix_tables(analysis),
        latency_hiding(analysis, exposed_stalls(analysis)) if has_waves else None,
        occupancy_over_time(analysis.capture.occupancy),
    ]
    shown = [table for table in tables if table is not None]
    return Result("How waves ran", shown, facts=_occupancy_facts(analysis))


def _occupancy_facts(analysis: CaptureAnalysis) -> dict[str, Value]:
    """Waves per SIMD as measured and as the kernel's resources allow."""
    found = traced_occupancy(analysis.capture)
    if found is None or found.measured is None:
        return {}
    return {
        **measured_facts(found),
        "theoretical_waves_per_simd": found.occupancy.waves_per_simd,
        "theory_known_by": found.register_origin,
    }


def wave_lifetimes(waves: Waves) -> Integers:
    """Cycles from begin to end of each wave."""
    return np.asarray(np.maximum(waves.end - waves.begin, 0), np.int64)


def sums_by_wave(waves: Waves, values: Integers) -> Integers:
    """Exact sums of a column of events by wave."""
    ends = np.concatenate([np.zeros(1, np.int64), np.cumsum(values, dtype=np.int64)])
    return np.asarray(np.diff(ends[waves.event_offsets]), np.int64)


def wave_spread(analysis: CaptureAnalysis) -> list[ResultTable]:
    """A table of spreads, and the slowest waves."""
    waves = analysis.waves
    if not len(waves):
        return []
    lifetime = wave_lifetimes(waves)
    stall = sums_by_wave(waves, waves.stall.astype(np.int64))
    executed = np.diff(waves.event_offsets)
    spreads = [
        _spread("lifetime in cycles", lifetime),
        _spread("executed instructions", executed),
        _spread("stalled cycles", stall),
    ]
    columns: list[ColumnOf[int]] = [
        ResultColumn("wave", "Wave", meaning="where it ran").of(waves.label),
        ResultColumn("lifetime", "Lifetime", Unit.COUNT, "cycles from begin to end").of(
            lambda wave: int(lifetime[wave])
        ),
        ResultColumn("instructions", "Executed", Unit.COUNT).of(lambda wave: int(executed[wave])),
        ResultColumn("stall", "Stall", Unit.COUNT).of(lambda wave: int(stall[wave])),
        ResultColumn("stall_percent", "Stall share", Unit.PERCENT, "of the lifetime").of(
            lambda wave: percent_of(int(stall[wave]), int(lifetime[wave]))
        ),
        ResultColumn("begin", "Begin", Unit.NONE, "shader clock").of(
            lambda wave: int(waves.begin[wave])
        ),
        ResultColumn("is_partial", "Partial").of(lambda wave: bool(waves.is_partial[wave])),
    ]
    slowest = np.argsort(-lifetime, kind="stable").tolist()
    return [
        table_of("wave_spread", "How evenly waves ran", _SPREAD_COLUMNS, spreads),
        first_rows("slowest_waves", "Slowest waves", columns, slowest, _MOST_WAVES),
    ]


class _Spread(NamedTuple):
    """How a quantity of waves is spread."""

    what: str
    least: int
    median: int
    p95: int
    most: int


_SPREAD_COLUMNS: tuple[ColumnOf[_Spread], ...] = (
    ResultColumn("what", "Of a wave").of(lambda each: each.what),
    ResultColumn("minimum", "Least", Unit.COUNT).of(lambda each: each.least),
    ResultColumn("median", "Median", Unit.COUNT).of(lambda each: each.median),
    ResultColumn("p95", "95 %", Unit.COUNT, "nearest rank").of(lambda each: each.p95),
    ResultColumn("maximum", "Most", Unit.COUNT).of(lambda each: each.most),
    ResultColumn("maximum_over_median", "Most/median", Unit.NONE).of(
        lambda each: each.most / each.median if each.median else None
    ),
)


def _spread(what: str, values: Integers) -> _Spread:
    ordered = np.sort(values)
    median, p95 = _nearest_rank(ordered, 50), _nearest_rank(ordered, 95)
    return _Spread(what, int(ordered[0]), median, p95, int(ordered[-1]))


def _nearest_rank(ordered: Integers, percent: int) -> int:
    return int(ordered[max(-(-len(ordered) * percent // 100), 1) - 1])


def gap_table(analysis: CaptureAnalysis) -> ResultTable | None:
    """The instructions before which waves were idle longest; None without wave files."""
    waves = analysis.waves
    sums, longest, times = np.zeros((3, len(analysis.instructions)), np.int64)
    for wave in range(len(waves)):
        gaps, rows = issue_gaps(waves, wave), waves.row[waves.events(wave)]
        known = (gaps > 0) & (rows >= 0)
        np.add.at(sums, rows[known], gaps[known])
        np.maximum.at(longest, rows[known], gaps[known])
        np.add.at(times, rows[known], 1)
    if not sums.any():
        return None
    ranked = np.argsort(-sums, kind="stable")[: int((sums > 0).sum())].tolist()
    total, instructions = int(sums.sum()), analysis.instructions
    columns: list[ColumnOf[int]] = [
        ResultColumn("instruction", "Before").of(lambda row: instructions.text[row]),
        ResultColumn("gap", "Gap", Unit.COUNT, "cycles of all waves with nothing to issue").of(
            lambda row: int(sums[row])
        ),
        ResultColumn("gap_percent", "Share", Unit.PERCENT, "of all gaps").of(
            lambda row: 100 * int(sums[row]) / total
        ),
        ResultColumn("count", "Gaps", Unit.COUNT).of(lambda row: int(times[row])),
        ResultColumn("longest", "Longest", Unit.COUNT).of(lambda row: int(longest[row])),
        ResultColumn("type", "Type").of(lambda row: analysis.kind(row).value),
        ResultColumn("source", "Source").of(lambda row: chain_label(instructions.frames_of(row))),
        ResultColumn("row", "Row", Unit.NONE).of(lambda row: row),
    ]
    title = "Gaps: waves with nothing to issue"
    return first_rows("issue_gaps", title, columns, ranked, _MOST_GAPS)


def matrix_tables(analysis: CaptureAnalysis) -> list[ResultTable]:
    """Gaps by instruction, and how busy the matrix unit of each SIMD was; none without waves."""
    waves = analysis.waves
    events = analysis.events_of(Kind.MATRIX) if len(waves) else np.empty(0, np.int32)
    if not len(events):
        return []
    title = "Matrix instructions: how close they follow one another"
    rates = _matrix_rates(analysis, events)
    units = _matrix_units(waves, events, analysis.matrix_cycles)
    return [
        table_of("matrix_rate", title, _RATE_COLUMNS, rates),
        table_of("matrix_busy", "Matrix unit of each SIMD", _UNIT_COLUMNS, units),
    ]


class _MatrixRate(NamedTuple):
    """Gaps between a matrix instruction and the next of the same wave, in order of length."""

    mnemonic: str
    executed: int
    cycles: int | None
    """None where the table of chips does not say, or its forms differ."""
    gaps: Integers


_RATE_COLUMNS: tuple[ColumnOf[_MatrixRate], ...] = (
    ResultColumn("instruction", "Instruction", meaning="mnemonic").of(lambda each: each.mnemonic),
    ResultColumn("executed", "Executed", Unit.COUNT).of(lambda each: each.executed),
    ResultColumn(
        "cycles", "Cycles", Unit.COUNT, "cycles that one keeps the matrix unit of its SIMD busy"
    ).of(lambda each: each.cycles),
    ResultColumn(
        "usual_gap", "Usual gap", Unit.COUNT, "most frequent distance from one issue to the next"
    ).of(lambda each: _most_frequent(each.gaps)),
    ResultColumn("median_gap", "Median gap", Unit.COUNT, "within one wave").of(
        lambda each: int(each.gaps[(len(each.gaps) - 1) // 2]) if len(each.gaps) else None
    ),
    ResultColumn("rate_percent", "Rate", Unit.PERCENT, "cycles / mean gap: 100 is the best").of(
        lambda each: (
            percent_of(each.cycles, max(float(each.gaps.mean()), 0))
            if each.cycles and len(each.gaps)
            else None
        )
    ),
)


def _matrix_rates(analysis: CaptureAnalysis, events: Rows) -> list[_MatrixRate]:
    """By mnemonic, the most executed first."""
    waves, instructions = analysis.waves, analysis.instructions
    issue = waves.time[events] + waves.stall[events]
    wave = waves.wave_of_event[events]
    is_followed = wave[1:] == wave[:-1]
    gap = (issue[1:] - issue[:-1])[is_followed]
    row = waves.row[events]
    mnemonic = instructions.mnemonic_code[row]
    of_gap = mnemonic[:-1][is_followed]
    found = []
    for code in np.unique(mnemonic).tolist():
        member = row[mnemonic == code]
        takes = np.unique(analysis.matrix_cycles[member])
        cycles = int(takes[-1]) if len(takes) == 1 and takes[-1] else None
        gaps = np.sort(gap[of_gap == code])
        found.append(_MatrixRate(instructions.mnemonics[code], len(member), cycles, gaps))
    return sorted(found, key=lambda each: -each.executed)


def _most_frequent(ordered: Integers) -> int | None:
    if not len(ordered):
        return None
    values, counts = np.unique(ordered, return_counts=True)
    return int(values[counts.argmax()])


class _MatrixUnit(NamedTuple):
    """The matrix unit of one SIMD."""

    simd: str
    waves: int
    busy_cycles: int
    lifetime: int


_UNIT_COLUMNS: tuple[ColumnOf[_MatrixUnit], ...] = (
    ResultColumn("simd", "SIMD").of(lambda unit: unit.simd),
    ResultColumn("waves", "Waves", Unit.COUNT).of(lambda unit: unit.waves),
    ResultColumn("busy_cycles", "Matrix cycles", Unit.COUNT, "executed instructions x cycles").of(
        lambda unit: unit.busy_cycles
    ),
    ResultColumn("lifetime", "With waves", Unit.COUNT, "cycles in which the SIMD had a wave").of(
        lambda unit: unit.lifetime
    ),
    ResultColumn("busy_percent", "Matrix busy", Unit.PERCENT).of(
        lambda unit: percent_of(unit.busy_cycles, unit.lifetime)
    ),
)


def _matrix_units(waves: Waves, events: Rows, cycles: Integers) -> list[_MatrixUnit]:
    places = np.stack([waves.shader_engine, waves.cu, waves.simd], axis=1)
    units, unit_of_wave = np.unique(places, axis=0, return_inverse=True)
    unit_of_wave = unit_of_wave.reshape(-1)
    busy = np.zeros(len(units), np.int64)
    np.add.at(busy, unit_of_wave[waves.wave_of_event[events]], cycles[waves.row[events]])
    found = []
    for unit, (engine, cu, simd) in enumerate(units.tolist()):
        own = unit_of_wave == unit
        ends = np.maximum(waves.end[own], waves.begin[own])
        lifetime = Intervals.from_pairs(waves.begin[own], ends).total_ns
        name = f"SE{engine} CU{cu} SIMD{simd}"
        found.append(_MatrixUnit(name, int(own.sum()), int(busy[unit]), lifetime))
    return found
