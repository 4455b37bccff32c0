"""The waves of a capture as a timeline: a strip for each SIMD, below it one for each slot.

Every executed instruction gives a piece that it stalls and a piece that it issues; between them a
wave has nothing to do. Times are cycles.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from wavescope.analyze.capture.analysis import CaptureAnalysis
from wavescope.analyze.capture.instruction_kinds import CODE_OF, KINDS, MEMORY_KINDS, Kind
from wavescope.analyze.timeline import (
    Classes,
    Colouring,
    DetailedOps,
    MarkerLanes,
    OpNames,
    Strip,
    TimeGrid,
    Timeline,
    time_in_bins,
)
from wavescope.arrays.intervals import union_length_ns
from wavescope.model.capture import Integers, Rows

_MOST_STRIPS = 64
_MOST_BINS = 1 << 14
_MOST_PIECES = 60_000
_EVENTS_AT_ONCE = 1 << 18
_LABELS = (
    "matrix",
    "vector ALU",
    "memory issue",
    "other issue",
    "stall: memory",
    "stall: LDS or scalar",
    "stall: barrier",
    "stall: other",
)
_MATRIX, _VALU, _MEMORY, _OTHER, _STALL_MEMORY, _STALL_LDS, _STALL_BARRIER, _STALL_OTHER = range(8)
_VALU_KINDS = (Kind.VALU, Kind.VALU_TRANSCENDENTAL, Kind.VALU_PERMUTE)
_STALL_CLASS = {
    **dict.fromkeys((Kind.VMEM_WAIT, Kind.STORE_WAIT, Kind.MIXED_WAIT), _STALL_MEMORY),
    **dict.fromkeys(
        (Kind.VMEM_LOAD, Kind.LOAD_TO_LDS, Kind.VMEM_STORE, Kind.ATOMIC, Kind.SCRATCH),
        _STALL_MEMORY,
    ),
    **dict.fromkeys((Kind.LDS_WAIT, Kind.SMEM_WAIT, Kind.LDS_SMEM_WAIT), _STALL_LDS),
    **dict.fromkeys((Kind.LDS, Kind.LDS_ATOMIC, Kind.LDS_PERMUTE, Kind.SMEM), _STALL_LDS),
    Kind.BARRIER: _STALL_BARRIER,
}


class WaveTimeline(NamedTuple):
    """A timeline in cycles, the names of its pieces, and what its strips are called."""

    timeline: Timeline
    names: OpNames
    strip_labels: list[str]


class _Pieces(NamedTuple):
    start: Integers
    end: Integers
    kind: Classes
    row: Rows

    def longest(self, most: int) -> _Pieces:
        length = self.end - self.start
        return self.take(np.sort(np.argsort(-length, kind="stable")[:most]))

    def take(self, places: Integers) -> _Pieces:
        return _Pieces(self.start[places], self.end[places], self.kind[places], self.row[places])


class _Kept(NamedTuple):
    """What is shown one by one of a slot that had `piece_count` pieces."""

    strip: int
    longest: _Pieces
    piece_count: int


_Lane = tuple[tuple[int, int, int], dict[int, list[int]]]
"""A SIMD, and the waves of its slots."""


def wave_timeline(analysis: CaptureAnalysis) -> WaveTimeline | None:
    """The waves over time; None without wave files."""
    waves = analysis.waves
    if not waves.event_count:
        return None
    first, last = int(waves.begin.min()), int(max(waves.end.max(), _last_event(analysis)))
    first = min(first, int(waves.time.min()))
    grid = TimeGrid.over(first, max(last, first + 1), _MOST_BINS)
    strips: list[Strip] = []
    labels: list[str] = []
    kept: list[_Kept] = []
    lanes = _lanes(analysis)
    share = _pieces_of_a_slot(lanes)
    for number, (simd, slots) in enumerate(lanes[:_MOST_STRIPS]):
        of_slots = {slot: _pieces(analysis, members) for slot, members in slots.items()}
        together = _joined(list(of_slots.values()))
        name = f"SE{simd[0]} CU{simd[1]} SIMD{simd[2]}"
        for slot, found in [(None, together), *of_slots.items()]:
            if len(strips) >= _MOST_STRIPS:
                break
            if slot is not None:
                # Of all pieces of a large trace at once there would be more than of its events.
                kept.append(_Kept(len(strips), found.longest(share), len(found.start)))
            strips.append(_strip(grid, number, slot, name, found))
            labels.append(name if slot is None else f"slot {slot}")
    detail, names, classes = _detailed(analysis, kept, first)
    colouring = Colouring("activity", "Activity", _LABELS, classes)
    timeline = Timeline(grid, max(last, first + 1), (colouring,), strips, detail, _no_markers(), 0)
    return WaveTimeline(timeline, names, labels)


def _last_event(analysis: CaptureAnalysis) -> int:
    waves = analysis.waves
    pieces = [
        slice(at, at + _EVENTS_AT_ONCE) for at in range(0, waves.event_count, _EVENTS_AT_ONCE)
    ]
    return max(
        int((waves.time[piece] + np.maximum(waves.duration[piece], waves.stall[piece])).max())
        for piece in pieces
    )


def _lanes(analysis: CaptureAnalysis) -> list[_Lane]:
    """SIMDs in order, each with its slots and their waves."""
    waves = analysis.waves
    found: dict[tuple[int, int, int], dict[int, list[int]]] = {}
    places = zip(
        waves.shader_engine.tolist(), waves.cu.tolist(), waves.simd.tolist(), waves.slot.tolist(),
        strict=True,
    )  # fmt: skip
    for wave, (engine, cu, simd, slot) in enumerate(places):
        found.setdefault((engine, cu, simd), {}).setdefault(slot, []).append(wave)
    return sorted((simd, dict(sorted(slots.items()))) for simd, slots in found.items())


def _pieces(analysis: CaptureAnalysis, members: list[int]) -> _Pieces:
    """The stalls and issues of some waves, by start."""
    waves = analysis.waves
    events = np.concatenate([np.arange(*waves.event_offsets[[one, one + 1]]) for one in members])
    rows = waves.row[events]
    start = waves.time[events]
    issued = start + np.maximum(waves.stall[events], 0)
    end = np.maximum(start + waves.duration[events], issued)
    kinds = np.append(analysis.kind_code, CODE_OF[Kind.OTHER])[rows]  # row -1 takes the last
    issue, stall = _class_table(_issue_class)[kinds], _class_table(_stall_class)[kinds]
    both = _Pieces(
        np.concatenate([start, issued]),
        np.concatenate([issued, end]),
        np.concatenate([stall, issue]),
        np.concatenate([rows, rows]),
    )
    lasting = np.flatnonzero(both.end > both.start)
    order = lasting[np.argsort(both.start[lasting], kind="stable")]
    return both.take(order)


def _class_table(class_of: Callable[[Kind], int]) -> Classes:
    return np.array([class_of(kind) for kind in KINDS], np.uint8)


def _issue_class(kind: Kind) -> int:
    if kind is Kind.MATRIX:
        return _MATRIX
    if kind in _VALU_KINDS:
        return _VALU
    return _MEMORY if kind in MEMORY_KINDS else _OTHER


def _stall_class(kind: Kind) -> int:
    return _STALL_CLASS.get(kind, _STALL_OTHER)


def _joined(parts: list[_Pieces]) -> _Pieces:
    return _Pieces(
        np.concatenate([part.start for part in parts]),
        np.concatenate([part.end for part in parts]),
        np.concatenate([part.kind for part in parts]),
        np.concatenate([part.row for part in parts]),
    )


def _strip(grid: TimeGrid, simd: int, slot: int | None, name: str, pieces: _Pieces) -> Strip:
    times = time_in_bins(grid, pieces.start, pieces.end, [pieces.kind], [len(_LABELS)])
    is_issue = pieces.kind < _STALL_MEMORY
    return Strip(
        simd,
        slot,
        "" if slot is None else f"{name} slot {slot}",
        len(pieces.start),
        union_length_ns(pieces.start[is_issue], pieces.end[is_issue]),
        tuple(np.minimum(each, grid.bin_ns) for each in times),
    )


def _pieces_of_a_slot(lanes: list[_Lane]) -> int:
    """How many pieces of each shown slot are kept one by one."""
    strips = [slot for _, slots in lanes[:_MOST_STRIPS] for slot in (None, *slots)]
    shown = [slot for slot in strips[:_MOST_STRIPS] if slot is not None]
    return max(_MOST_PIECES // max(len(shown), 1), 1)


def _detailed(
    analysis: CaptureAnalysis, kept: list[_Kept], first: int
) -> tuple[DetailedOps, OpNames, Classes]:
    """The longest pieces of the slots one by one, with the text of their instruction."""
    left = sum(each.piece_count - len(each.longest.start) for each in kept)
    longest_left = max(
        (
            int(np.partition(each.longest.end - each.longest.start, 0)[0])
            for each in kept
            if len(each.longest.start) < each.piece_count
        ),
        default=0,
    )
    together = _joined([each.longest for each in kept])
    rows, place = np.unique(together.row, return_inverse=True)
    texts = [analysis.instructions.text[row].strip() if row >= 0 else "?" for row in rows.tolist()]
    detail = DetailedOps(
        np.repeat([each.strip for each in kept], [len(each.longest.start) for each in kept]).astype(
            np.uint16
        ),
        together.start - first,
        together.end - together.start,
        np.arange(len(together.start)),
        left,
        longest_left,
    )
    return detail, OpNames(texts, place.reshape(-1).astype(np.uint32)), together.kind


def _no_markers() -> MarkerLanes:
    numbers = np.empty(0, np.int64)
    return MarkerLanes(
        [], np.empty(0, np.uint16), np.empty(0, np.uint8), numbers, numbers,
        np.empty(0, np.int32), 0,
    )  # fmt: skip
