"""Holds what the decoder wrote into wave files against the model: dependencies and categories."""

from __future__ import annotations

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.counter_model import (
    CounterProgram,
    counter_program,
    find_dependencies,
)
from wavescope.analyze.capture.counter_rules import CounterRules
from wavescope.analyze.capture.instruction_kinds import CODE_OF, KINDS, WAIT_KINDS, Kind
from wavescope.model.capture import Category, Flags, Integers, Rows, Waves

_WAVES = 64
"""Waves compared at a time: their lists shall not double the memory of the trace."""
_PIECE = 1 << 18
_MOST_CATEGORIES = 256
_MEMORY = (Category.VMEM, Category.FLAT)


def reproduced_dependencies(analysis: CaptureAnalysis) -> tuple[int, int]:
    """How many of the stored lists the model gives too, and how many are stored.

    The model follows the decoder's rules here. A list counts as given when the model has one of
    the same wave, wait and producers at the same place among the lists of its wave.
    """
    stored = analysis.waves.dependencies
    if not len(stored):
        return 0, 0
    program = counter_program(analysis.instructions, analysis.chip.family, CounterRules.DECODER)
    same = sum(
        _same_lists(analysis.waves, program, first, min(first + _WAVES, len(analysis.waves)))
        for first in range(0, len(analysis.waves), _WAVES)
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


_EXPECTED: dict[Kind, tuple[Category, ...]] = {
    Kind.SMEM: (Category.SMEM,),
    Kind.SALU: (Category.SALU,),
    Kind.VMEM_LOAD: (*_MEMORY, Category.BVH),
    Kind.LOAD_TO_LDS: _MEMORY,
    Kind.VMEM_STORE: _MEMORY,
    Kind.ATOMIC: _MEMORY,
    Kind.SCRATCH: _MEMORY,
    Kind.LDS: (Category.LDS,),
    Kind.LDS_ATOMIC: (Category.LDS,),
    Kind.LDS_PERMUTE: (Category.LDS,),
    Kind.VALU: (Category.VALU,),
    Kind.VALU_TRANSCENDENTAL: (Category.VALU,),
    Kind.VALU_PERMUTE: (Category.VALU,),
    Kind.MATRIX: (Category.VALU,),
    Kind.BRANCH: (Category.JUMP_TAKEN, Category.JUMP_NOT_TAKEN, Category.SALU),
    Kind.BARRIER: (Category.IMMEDIATE, Category.MESSAGE),
    **dict.fromkeys(WAIT_KINDS, (Category.IMMEDIATE,)),
}
"""Kinds that are not here may be anything; category NONE may be anything too."""


def disagreeing_events(analysis: CaptureAnalysis) -> int:
    """Executed instructions whose category does not fit their text: another kernel's code?"""
    fits = _fitting()
    waves = analysis.waves
    kinds = np.append(analysis.kind_code, CODE_OF[Kind.OTHER])
    count = 0
    for first in range(0, waves.event_count, _PIECE):
        piece = slice(first, first + _PIECE)
        count += int((~fits[kinds[waves.row[piece]], waves.category[piece]]).sum())
    return count


def _fitting() -> Flags:
    """By kind and category whether they go together."""
    fits = np.ones((len(KINDS), _MOST_CATEGORIES), np.bool_)
    known = [category.value for category in Category if category is not Category.NONE]
    for kind, categories in _EXPECTED.items():
        fits[CODE_OF[kind], known] = False
        fits[CODE_OF[kind], [category.value for category in categories]] = True
    return fits
