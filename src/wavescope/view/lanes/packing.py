"""Lanes out of ranges that overlap and come in any order."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.native import columns_library
from wavescope.view.lanes.lane import Codes, Lane, Lengths, Rows, Times

MOST_LANES = 64
"""Of one row; ranges that find no place are counted instead."""


class Packing(enum.Enum):
    """Which lane a range gets when others are still open at its start."""

    FIRST_FREE = "the first that is free: ops of a queue"
    BELOW_OPEN = "the one below all that are open: calls and markers of a thread, a flame chart"


class Ranges(NamedTuple):
    """Ranges [start, end) in any order, with what a lane says of them; see `Lane`."""

    starts: Times
    ends: Times
    names: Codes
    rows: Rows


class PackedLanes(NamedTuple):
    """Lanes by depth, and how many ranges found no place in them."""

    lanes: tuple[Lane, ...]
    left_out_count: int


def packed_lanes(
    ranges: Ranges, packing: Packing, free_at: npt.NDArray[np.int64] | None = None
) -> PackedLanes:
    """A lane for each depth that occurs; a range that ends before its start has no length.

    `free_at` says from when on each of the `MOST_LANES` lanes is free. Columns that are in order
    already are kept, not copied.
    """
    if not len(ranges.starts):
        return PackedLanes((), 0)
    ordered = _in_opening_order(ranges, packing)
    depths = np.empty(len(ordered.starts), np.uint8)
    if free_at is None:
        free_at = np.full(MOST_LANES, np.iinfo(np.int64).min)
    left_out = columns_library().wavescope_pack_lanes(
        ordered.starts,
        ordered.ends,
        len(depths),
        packing is Packing.BELOW_OPEN,
        free_at.copy(),
        MOST_LANES,
        depths,
    )
    if depths.min() == depths.max() and not left_out:
        return PackedLanes((_lane(ordered, int(depths[0])),), 0)
    counts = np.bincount(depths, minlength=MOST_LANES)[:MOST_LANES]
    order = np.argsort(depths, kind="stable")
    lanes = []
    first = 0
    for depth in np.flatnonzero(counts).tolist():
        members = order[first : first + int(counts[depth])]
        lanes.append(_lane(_taken(ordered, members), depth))
        first += len(members)
    return PackedLanes(tuple(lanes), left_out)


def joined_lanes(lanes: Sequence[Lane], packing: Packing) -> PackedLanes:
    """One lane for each depth; packed anew only where two lanes of one depth overlap."""
    by_depth: dict[int, list[Lane]] = {}
    for lane in sorted(lanes, key=_place):
        by_depth.setdefault(lane.depth, []).append(lane)
    if all(follow_each_other(members) for members in by_depth.values()):
        joined = (end_to_end(members) for members in by_depth.values())
        return PackedLanes(tuple(lane for lane in joined if len(lane)), 0)
    return repacked_lanes(lanes, packing)


def repacked_lanes(lanes: Sequence[Lane], packing: Packing) -> PackedLanes:
    """The lanes that the ranges have when all are packed at once, in order of their rows."""
    if not lanes:
        return PackedLanes((), 0)
    ranges = ranges_of(lanes)
    return packed_lanes(_taken(ranges, np.argsort(ranges.rows, kind="stable")), packing)


def follow_each_other(lanes: Sequence[Lane]) -> bool:
    """Whether each of the lanes begins after the one before it has ended."""
    filled = [lane for lane in lanes if len(lane)]
    ends = (lane.ends_ns for lane in filled[:-1])
    return all(end <= lane.begins_ns for end, lane in zip(ends, filled[1:], strict=True))


def end_to_end(lanes: Sequence[Lane]) -> Lane:
    """Lanes of one depth that follow each other as one lane."""
    if len(lanes) == 1:
        return lanes[0]
    return Lane(
        np.concatenate([lane.starts for lane in lanes]),
        np.concatenate([lane.lengths for lane in lanes]),
        np.concatenate([lane.names for lane in lanes]),
        np.concatenate([lane.rows for lane in lanes]),
        lanes[0].depth,
    )


def all_ranges(parts: Sequence[Ranges]) -> Ranges:
    """The ranges of all parts."""
    starts, ends, names, rows = zip(*parts, strict=True)
    return Ranges(
        np.concatenate(starts), np.concatenate(ends), np.concatenate(names), np.concatenate(rows)
    )


def ranges_of(lanes: Sequence[Lane]) -> Ranges:
    """The ranges of all lanes."""
    return all_ranges([Ranges(lane.starts, _ends(lane), lane.names, lane.rows) for lane in lanes])


def _ends(lane: Lane) -> Times:
    ends: Times = lane.starts + lane.lengths.astype(np.int64)
    return ends


def _place(lane: Lane) -> tuple[int, int]:
    return lane.depth, lane.begins_ns if len(lane) else 0


def _in_opening_order(ranges: Ranges, packing: Packing) -> Ranges:
    """By start; of nested ranges that start together the longer one first."""
    starts = np.ascontiguousarray(ranges.starts, np.int64)
    ends = np.maximum(np.asarray(ranges.ends, np.int64), starts)
    names = np.asarray(ranges.names, np.int32)
    rows = np.asarray(ranges.rows, np.uint32)
    is_later = starts[1:] > starts[:-1]
    ties = starts[1:] == starts[:-1]
    if packing is Packing.BELOW_OPEN:
        if np.all(is_later | (ties & (ends[1:] <= ends[:-1]))):
            return Ranges(starts, ends, names, rows)
        order = np.lexsort((~ends, starts))
    else:
        if np.all(is_later | ties):
            return Ranges(starts, ends, names, rows)
        order = np.argsort(starts, kind="stable")
    return _taken(Ranges(starts, ends, names, rows), order)


def _taken(ranges: Ranges, places: npt.NDArray[np.intp]) -> Ranges:
    starts, ends, names, rows = ranges
    return Ranges(starts[places], ends[places], names[places], rows[places])


def _lane(ranges: Ranges, depth: int) -> Lane:
    return Lane(ranges.starts, _lengths(ranges), ranges.names, ranges.rows, depth)


def _lengths(ranges: Ranges) -> Lengths:
    # Wraps where a range spans more than half of all times, and is right nevertheless.
    lengths: npt.NDArray[np.uint64] = (ranges.ends - ranges.starts).view(np.uint64)
    return lengths if int(lengths.max()) >> 32 else lengths.astype(np.uint32)
