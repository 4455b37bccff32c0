"""What hides stall and memory latency, and what waves wait for with nothing else to do."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis, first_rows
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.source_lines import chain_label
from wavescope.arrays.intervals import Intervals
from wavescope.model.capture import Integers, Rows, Waves
from wavescope.model.result import ColumnOf, ResultColumn, ResultTable, Unit
from wavescope.units import percent_of

_MOST_ROWS = 15
_PIECE = 1 << 18
USUAL_MATRIX_CYCLES = 16
"""Of matrix instructions that the table does not know."""
_NO_WORK = (Kind.END, Kind.SLEEP)
"""A wave that has ended only waits for its stores, one that sleeps does nothing."""


def busy_cycles(analysis: CaptureAnalysis) -> Integers:
    """By row how long it keeps the matrix unit, 0 for all others."""
    cycles = analysis.matrix_cycles.copy()
    cycles[analysis.is_of(Kind.MATRIX) & (cycles == 0)] = USUAL_MATRIX_CYCLES
    return cycles


def issue_gaps(waves: Waves, wave: int) -> Integers:
    """For each event of a wave the cycles from the end of all before it to its own time."""
    events = waves.events(wave)
    time = waves.time[events]
    if not len(time):
        return time
    before = np.empty_like(time)
    before[0] = waves.begin[wave]
    np.maximum.accumulate(time[:-1] + waves.duration[events][:-1], out=before[1:])
    gaps: Integers = np.maximum(time - before, 0)
    return gaps


class SimdTime(NamedTuple):
    """What SIMDs did while their traced waves stalled."""

    exposed: Rows
    """For each event of the waves the cycles of its stall in which its SIMD did nothing."""
    idle_percent: float
    """Of the time in which SIMDs had traced waves, the part in which none of them did anything."""
    idle_before_row: Integers
    """By row the cycles in which a wave had nothing to issue before it and its SIMD did nothing."""


def exposed_stalls(analysis: CaptureAnalysis) -> Rows:
    """By event the exposed part of its stall."""
    return simd_time(analysis).exposed


def simd_time(analysis: CaptureAnalysis) -> SimdTime:
    """When SIMDs worked beside when their waves stalled.

    An instruction keeps its SIMD busy from its issue to its end, a matrix instruction at least for
    its own cycles. Only traced waves are seen: other waves of the SIMD may have hidden more.
    """
    waves, lived, worked = analysis.waves, 0, 0
    idle = np.zeros(len(analysis.instructions) + 1, np.int64)  # row -1, which none is, has the last
    exposed: Rows = np.maximum(waves.stall, 0)
    for simd in _simds(analysis):
        stall = exposed[simd.events].astype(np.int64)
        start = waves.time[simd.events]
        hidden = _covered_before(simd.busy, start + stall) - _covered_before(simd.busy, start)
        exposed[simd.events] = stall - hidden
        ends = np.maximum(waves.end[simd.waves], waves.begin[simd.waves])
        alive = Intervals.from_pairs(waves.begin[simd.waves], ends)
        lived += alive.total_ns
        covered = _covered_before(simd.busy, alive.ends) - _covered_before(simd.busy, alive.starts)
        worked += int(covered.sum())
        for wave in simd.waves.tolist():
            _add_idle(waves, wave, simd.busy, idle)
    return SimdTime(exposed, 100 * (lived - worked) / lived if lived else 0.0, idle[:-1])


def _add_idle(waves: Waves, wave: int, busy: Intervals, idle: Integers) -> None:
    """Add a wave's gaps, without what the SIMD did meanwhile, to the rows that ended them."""
    gaps = issue_gaps(waves, wave)
    found = np.flatnonzero(gaps)
    events = waves.events(wave).start + found
    end = waves.time[events]
    hidden = _covered_before(busy, end) - _covered_before(busy, end - gaps[found])
    np.add.at(idle, waves.row[events], gaps[found] - hidden)


class _Simd(NamedTuple):
    """The traced waves of one SIMD, their events, and when any of them did something."""

    waves: Integers
    events: Integers
    busy: Intervals


def _simds(analysis: CaptureAnalysis) -> Iterator[_Simd]:
    waves = analysis.waves
    cycles = np.append(busy_cycles(analysis), 0)  # row -1, which no instruction is, takes the last
    rests = np.append(analysis.is_of(*_NO_WORK), False)
    places = np.stack([waves.shader_engine, waves.cu, waves.simd], axis=1)
    _, simd_of_wave = np.unique(places, axis=0, return_inverse=True)
    order = np.argsort(simd_of_wave.reshape(-1), kind="stable")
    bounds = np.flatnonzero(np.diff(simd_of_wave.reshape(-1)[order])) + 1
    for members in np.split(order, bounds):
        if not len(members):
            continue
        events = np.concatenate(
            [np.arange(*waves.event_offsets[[wave, wave + 1]]) for wave in members.tolist()]
        )
        stall = np.maximum(waves.stall[events], 0).astype(np.int64)
        issued = waves.time[events] + stall
        rows = waves.row[events]
        ended = waves.time[events] + np.maximum(waves.duration[events], stall)
        end = np.where(rests[rows], issued, np.maximum(ended, issued + cycles[rows]))
        yield _Simd(members, events, Intervals.from_pairs(issued, end))


def _covered_before(busy: Intervals, times: Integers) -> Integers:
    """For each time how much of `busy` lies before it."""
    if not len(busy):
        return np.zeros(len(times), np.int64)
    before = np.concatenate([[0], np.cumsum(busy.ends - busy.starts)])
    place = np.searchsorted(busy.starts, times, side="right")
    last = np.maximum(place - 1, 0)
    beyond = np.maximum(busy.ends[last] - times, 0)
    return np.where(place > 0, before[place] - beyond, 0)


def latency_hiding(analysis: CaptureAnalysis, exposed: Rows) -> ResultTable | None:
    """By operation: distance to its wait, stall, what the wave and its SIMD did meanwhile.

    `exposed` is by event the part of its stall in which no wave of the SIMD issued anything.
    None without wave files: without times there is no distance.
    """
    waves, dependencies = analysis.waves, analysis.dependencies
    if not len(waves) or not len(dependencies):
        return None
    sums = {
        name: np.zeros(len(analysis.instructions), np.int64)
        for name in ("waits", "distance", "between", "stall", "exposed")
    }
    matrix = analysis.events_of(Kind.MATRIX)
    for first in range(0, len(dependencies), _PIECE):
        piece = slice(first, first + _PIECE)
        wait = dependencies.wait_event[piece]
        producer = dependencies.producer_event[dependencies.producer_offsets[1:][piece] - 1]
        stall = analysis.charges.list_stall[piece]
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
    waits, stall, hidden, exposed_sum, between = (
        sums[name] for name in ("waits", "stall", "distance", "exposed", "between")
    )
    instructions = analysis.instructions
    columns: list[ColumnOf[int]] = [
        ResultColumn("instruction", "Operation").of(lambda row: instructions.text[row]),
        ResultColumn("waits", "Waits", Unit.COUNT, "that this operation ended").of(
            lambda row: int(waits[row])
        ),
        ResultColumn("distance", "Distance", Unit.NONE, "mean cycles from issue to the wait").of(
            lambda row: int(hidden[row]) / int(waits[row])
        ),
        ResultColumn(
            "matrix_between", "MFMAs between", Unit.NONE, "mean, from issue to the wait"
        ).of(lambda row: int(between[row]) / int(waits[row])),
        ResultColumn("stall", "Waited", Unit.COUNT, "stall of the waits").of(
            lambda row: int(stall[row])
        ),
        ResultColumn("hidden", "Hidden", Unit.COUNT, "cycles in which the wave did other work").of(
            lambda row: int(hidden[row])
        ),
        ResultColumn("hidden_percent", "Hidden share", Unit.PERCENT, "of issue to end of wait").of(
            lambda row: percent_of(int(hidden[row]), int(hidden[row] + stall[row]))
        ),
        ResultColumn(
            "exposed", "Exposed", Unit.COUNT, "stall in which the SIMD did nothing at all"
        ).of(lambda row: int(exposed_sum[row])),
        ResultColumn(
            "exposed_percent", "Exposed share", Unit.PERCENT, "of the stall of the waits"
        ).of(lambda row: percent_of(int(exposed_sum[row]), int(stall[row]))),
        ResultColumn("source", "Source").of(lambda row: chain_label(instructions.frames_of(row))),
        ResultColumn("row", "Row", Unit.NONE).of(lambda row: row),
    ]
    ranked = np.argsort(-stall, kind="stable")
    ranked = ranked[waits[ranked] > 0]
    title = "Memory latency: hidden and waited for"
    return first_rows("latency_hiding", title, columns, ranked.tolist(), _MOST_ROWS)
