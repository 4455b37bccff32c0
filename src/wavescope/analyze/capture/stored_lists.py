"""Compares the counter model with the dependency lists that wave files carry."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.counter_model import (
    CounterProgram,
    counter_program,
    find_dependencies,
)
from wavescope.analyze.capture.counter_rules import CounterRules
from wavescope.analyze.capture.decoded import DecodedTrace
from wavescope.model.capture import Integers, Rows, Waves

_WAVES = 64
"""Waves compared at a time: their lists shall not double the memory of the trace."""


def agreement(decoded: DecodedTrace) -> tuple[int, int]:
    """How many of the stored lists the model gives too, and how many are stored.

    The model follows the decoder's rules here. A list counts as given when the model has one of
    the same wave, wait and producers at the same place among the lists of its wave.
    """
    stored = decoded.waves.dependencies
    if not len(stored):
        return 0, 0
    program = counter_program(decoded.instructions, decoded.chip.family, CounterRules.DECODER)
    same = sum(
        _same_lists(decoded.waves, program, first, min(first + _WAVES, len(decoded.waves)))
        for first in range(0, len(decoded.waves), _WAVES)
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
