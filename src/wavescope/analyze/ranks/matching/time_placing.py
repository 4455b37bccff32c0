"""Rows of a rank that lacks exchanges or has others, placed by when they ended.

Where the clocks of two ranks stand is voted for: at the right difference nearly every row of the
one ends when a row of the other does that did the same. The difference is followed along, so that
clocks may drift.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.matching.edits import Placed
from wavescope.analyze.ranks.matching.local_groups import LocalGroup
from wavescope.analyze.ranks.matching.shifts import Shifts
from wavescope.arrays.intervals import Times

_ANCHOR_ROWS = 8
_VOTING_ROWS = 96
_CHUNK_ROWS = 48
_MOST_CANDIDATES = 256
_LEAST_SHARE = 0.6
"""So many of the rows must end with a row of the reference."""
_LEAD = 1.2
"""The best difference must have so many times the votes of the next."""
_NEAR_SHARE = 8
"""Ends are together within this part of the time between exchanges."""
_LEAST_NEAR_NS = 1_000.0
_TOGETHER_NS = 20_000.0
_MOST_CHANGES = 64
_AROUND = 5


class _Nearest(NamedTuple):
    """For each row of a rank the row of the reference that ended next to it."""

    row: npt.NDArray[np.intp]
    apart_ns: npt.NDArray[np.float64]


def placed_by_times(reference: LocalGroup, member: LocalGroup, candidates: Shifts) -> Placed | None:
    """Rows at the exchanges that they ended with; None where times do not tell."""
    if len(reference) < _ANCHOR_ROWS or len(member) < _ANCHOR_ROWS:
        return None
    ends = np.maximum.accumulate(reference.end_ns)
    near_ns = _near_ns(reference)
    offset = _voted_offset(reference, member, ends, near_ns, candidates)
    if offset is None:
        return None
    nearest = _followed(member, reference, ends, offset, near_ns)
    inside = nearest.apart_ns <= near_ns
    if np.count_nonzero(inside) < _LEAST_SHARE * min(len(member), len(reference)):
        return None
    return _placed(nearest, _once(nearest, inside), len(reference))


def _near_ns(reference: LocalGroup) -> float:
    """Ends are together within this."""
    between = np.median(np.diff(reference.end_ns)) if len(reference) > 1 else 0.0
    return max(float(between) / _NEAR_SHARE, _LEAST_NEAR_NS)


def _voted_offset(
    reference: LocalGroup,
    member: LocalGroup,
    ends: Times,
    near_ns: float,
    candidates: Shifts,
) -> int | None:
    """The difference of both clocks at which most rows end with an equal one."""
    offsets = []
    for shift in _spread(candidates):
        first, own = max(shift, 0), max(-shift, 0)
        count = min(_ANCHOR_ROWS, len(reference) - first, len(member) - own)
        if count > 0:
            apart = reference.end_ns[first : first + count] - member.end_ns[own : own + count]
            # Of a few rows each may be the wrong one.
            offsets.extend(np.unique(apart).tolist())
    votes = []
    for offset in offsets:
        own = int(np.searchsorted(member.end_ns, ends[0] - offset - near_ns))
        rows = slice(own, own + _VOTING_ROWS)
        nearest = _nearest(member.end_ns[rows] + offset, ends)
        equal = reference.tokens[nearest.row] == member.tokens[rows]
        # Ends that are nearer count more: steps often are alike within the time between exchanges.
        votes.append(float(np.sum(equal / (1 + (nearest.apart_ns / _TOGETHER_NS) ** 2))))
    if not votes:
        return None
    best = int(np.argmax(votes))
    others = [
        vote
        for vote, offset in zip(votes, offsets, strict=True)
        if abs(offset - offsets[best]) > near_ns
    ]
    if others and votes[best] < _LEAD * max(others):
        return None
    # At the right difference nearly every row has its vote.
    if votes[best] < _LEAST_SHARE * min(len(member), len(reference), _VOTING_ROWS) / 2:
        return None
    return int(offsets[best])


def _spread(candidates: Shifts) -> list[int]:
    """Not more than can be tried, the smallest first."""
    order = np.argsort(np.abs(candidates), kind="stable")
    return [int(shift) for shift in candidates[order[:_MOST_CANDIDATES]]]


def _nearest(times: Times, ends: Times) -> _Nearest:
    right = np.clip(np.searchsorted(ends, times), 1, len(ends) - 1)
    is_left = times - ends[right - 1] <= ends[right] - times
    row = np.where(is_left, right - 1, right)
    return _Nearest(row, np.abs(times - ends[row]).astype(np.float64))


def _followed(
    member: LocalGroup, reference: LocalGroup, ends: Times, offset: int, near_ns: float
) -> _Nearest:
    """The nearest row of the reference for each row, the difference of clocks followed along."""
    rows, apart = [], []
    for first in range(0, len(member), _CHUNK_ROWS):
        chunk = slice(first, first + _CHUNK_ROWS)
        times = member.end_ns[chunk] + offset
        found = _nearest(times, ends)
        equal = (found.apart_ns <= near_ns) & (reference.tokens[found.row] == member.tokens[chunk])
        if np.count_nonzero(equal) > 2:
            moved = int(np.median((ends[found.row] - times)[equal]))
            offset += moved
            found = _nearest(times + moved, ends)
        rows.append(found.row)
        apart.append(found.apart_ns)
    return _Nearest(np.concatenate(rows), np.concatenate(apart))


def _once(nearest: _Nearest, inside: npt.NDArray[np.bool_]) -> npt.NDArray[np.bool_]:
    """Of several rows at one row of the reference only the nearest."""
    order = np.lexsort((nearest.apart_ns, nearest.row))
    ordered = nearest.row[order]
    is_first = np.concatenate([[True], ordered[1:] != ordered[:-1]])
    once = np.zeros(len(order), np.bool_)
    once[order] = is_first
    kept: npt.NDArray[np.bool_] = once & inside
    return kept


def is_better(rows: Placed, exact_shift: int, reference: LocalGroup, member: LocalGroup) -> bool:
    """Whether more rows end with an equal row of the reference than at a shift of all rows."""
    shifted = np.arange(len(member)) + exact_shift
    return _together(rows.position, rows.extra == 0, reference, member) > _together(
        shifted, np.ones(len(member), np.bool_), reference, member
    )


def is_suspicious(shift: int, reference: LocalGroup, member: LocalGroup) -> bool:
    """Whether at a shift ends are at another distance to the reference's from some row on."""
    first, own = max(shift, 0), max(-shift, 0)
    count = min(len(reference) - first, len(member) - own)
    apart = reference.end_ns[first : first + count] - member.end_ns[own : own + count]
    if count < _ANCHOR_ROWS:
        return False
    near_ns = _near_ns(reference)
    changed = np.flatnonzero(np.abs(np.diff(apart)) > near_ns)[:_MOST_CHANGES] + 1
    return any(_stays_changed(apart, int(row), near_ns) for row in changed)


def _stays_changed(apart: Times, row: int, near_ns: float) -> bool:
    """Whether a distance changes from a row on, and not for one late end only."""
    before, after = apart[max(row - _AROUND, 0) : row], apart[row : row + _AROUND]
    if min(len(before), len(after)) < _AROUND:
        return True
    change = np.sort(after)[_AROUND // 2] - np.sort(before)[_AROUND // 2]
    return bool(abs(int(change)) > near_ns)


def _together(
    position: Times, is_placed: npt.NDArray[np.bool_], reference: LocalGroup, member: LocalGroup
) -> int:
    inside = is_placed & (position >= 0) & (position < len(reference))
    rows = position[inside]
    equal = reference.tokens[rows] == member.tokens[inside]
    apart = (reference.end_ns[rows] - member.end_ns[inside])[equal]
    if not len(apart):
        return 0
    near_ns = _near_ns(reference)
    # Where clocks drift, the middle of the rows around is what the difference is compared with.
    blocks = np.array_split(apart, max(len(apart) // _CHUNK_ROWS, 1))
    return sum(
        int(
            np.count_nonzero(np.abs(block - int(np.median(block - block[0])) - block[0]) <= near_ns)
        )
        for block in blocks
    )


def _placed(nearest: _Nearest, is_matched: npt.NDArray[np.bool_], count: int) -> Placed:
    """Matched rows at their places; what lies between is extra, what lies outside counts on."""
    matched = np.flatnonzero(is_matched)
    first, last = int(matched[0]), int(matched[-1])
    rows = np.arange(len(nearest.row))
    before = np.maximum.accumulate(np.where(is_matched, rows, -1))
    position = nearest.row[np.maximum(before, 0)].astype(np.int64)
    extra = rows - before
    after = np.minimum.accumulate(np.where(is_matched, rows, len(rows))[::-1])[::-1]
    # As many rows on both sides between two that match: they ended late, or did something else.
    within = (before >= 0) & (after < len(rows))
    span = nearest.row[np.minimum(after, len(rows) - 1)] - position
    fills = within & (span == after - before)
    position, extra = np.where(fills, position + extra, position), np.where(fills, 0, extra)
    # Rows before the reference's first, and after its last.
    if nearest.row[first] == 0:
        position[:first], extra[:first] = rows[:first] - first, 0
    else:
        position[:first], extra[:first] = nearest.row[first] - 1, rows[:first] + 1
    if nearest.row[last] == count - 1:
        position[last:], extra[last:] = count - 1 + rows[last:] - last, 0
    return Placed(position, extra.astype(np.int64), False)
