"""Which part of a stall nothing hides: no wave of the SIMD issues, no matrix instruction runs."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.analyze.capture.instruction_kinds import Kind
from wavescope.analyze.capture.matrix_rate import cycles_by_row
from wavescope.arrays.intervals import Intervals
from wavescope.model.capture import Integers, Rows, Waves

USUAL_MATRIX_CYCLES = 16
"""Of matrix instructions that the table does not know."""
_NO_WORK = (Kind.END, Kind.SLEEP)
"""A wave that has ended only waits for its stores, one that sleeps does nothing."""


def busy_cycles(decoded: DecodedTrace) -> Integers:
    """By row how long it keeps the matrix unit, 0 for all others."""
    cycles = cycles_by_row(decoded)
    cycles[decoded.is_of(Kind.MATRIX) & (cycles == 0)] = USUAL_MATRIX_CYCLES
    return cycles


def exposed_stalls(decoded: DecodedTrace) -> Rows:
    """For each event of the waves the cycles of its stall in which its SIMD did nothing.

    An instruction keeps its SIMD busy from its issue to its end, a matrix instruction at least for
    its own cycles. Only traced waves are seen: other waves of the SIMD may have hidden more.
    """
    waves = decoded.waves
    exposed: Rows = np.maximum(waves.stall, 0)
    cycles = np.append(busy_cycles(decoded), 0)  # row -1, which no instruction is, takes the last
    rests = np.append(decoded.is_of(*_NO_WORK), False)
    for events in _events_of_simds(waves):
        stall = exposed[events].astype(np.int64)
        start = waves.time[events]
        issued = start + stall
        rows = waves.row[events]
        end = np.maximum(start + np.maximum(waves.duration[events], stall), issued + cycles[rows])
        end = np.where(rests[rows], issued, end)
        busy = Intervals.from_pairs(issued, end)
        hidden = _covered_before(busy, issued) - _covered_before(busy, start)
        exposed[events] = stall - hidden
    return exposed


def _events_of_simds(waves: Waves) -> Iterator[Integers]:
    """The events of the waves of each SIMD."""
    places = np.stack([waves.shader_engine, waves.cu, waves.simd], axis=1)
    _, simd_of_wave = np.unique(places, axis=0, return_inverse=True)
    order = np.argsort(simd_of_wave.reshape(-1), kind="stable")
    bounds = np.flatnonzero(np.diff(simd_of_wave.reshape(-1)[order])) + 1
    for members in np.split(order, bounds):
        if len(members):
            yield np.concatenate(
                [np.arange(*waves.event_offsets[[wave, wave + 1]]) for wave in members.tolist()]
            )


def _covered_before(busy: Intervals, times: Integers) -> Integers:
    """For each time how much of `busy` lies before it."""
    if not len(busy):
        return np.zeros(len(times), np.int64)
    before = np.concatenate([[0], np.cumsum(busy.ends - busy.starts)])
    place = np.searchsorted(busy.starts, times, side="right")
    last = np.maximum(place - 1, 0)
    beyond = np.maximum(busy.ends[last] - times, 0)
    return np.where(place > 0, before[place] - beyond, 0)
