"""By how many exchanges a rank began to record earlier or later than another.

Row j of a rank at shift s is row j + s of the rank that it is compared with. What both do must be
equal where they overlap. In a program that repeats itself several shifts fit: labels of steps tell
the right one, else the times do: ends of one exchange have the same distances on all ranks, within
microseconds, and steps differ from each other by more than that.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.matching.local_groups import LocalGroup, Numbers
from wavescope.arrays.intervals import Times

Shifts = npt.NDArray[np.int64]

BY_LABELS = 0.97
ONLY_ONE = 0.95
BY_TIMES = 0.9
BY_CLOCKS = 0.7
A_GUESS = 0.3

_MOST_CANDIDATES = 4096
_COMPARED_CELLS = 1 << 18
_MOST_COMPARED = 256
_LEAST_COMPARED = 4
_NEIGHBOURS = 4
_MARKED_AWAY = 8
_MOST_EDITED_STEPS = 15
_MOST_KINDS = 16
_MOSTLY = 0.8
_WINDOW, _SHORT_WINDOW = 32, 8
_CLEARLY = 3.0
"""Clocks tell a shift if at the next best one they are so many times further apart."""
_RESOLUTION_NS = 500


class Shift(NamedTuple):
    """A shift and how sure it is."""

    rows: int
    certainty: float


def exact_shifts(reference: Numbers, member: Numbers) -> Shifts:
    """All shifts at which no exchange differs, with at least half of the shorter rank compared."""
    size = 1 << int(len(reference) + len(member) - 1).bit_length()
    left, right = reference.astype(np.float64) + 1, member.astype(np.float64) + 1
    # The sum of squared differences at each shift; 0 means that everything is equal.
    spectrum = np.fft.rfft(left, size) * np.conj(np.fft.rfft(right, size))
    products = np.fft.irfft(spectrum, size)
    shifts = np.arange(-(len(member) - 1), len(reference))
    first, stop = np.maximum(shifts, 0), np.minimum(len(reference), len(member) + shifts)
    squares_left = np.concatenate([[0.0], np.cumsum(left**2)])
    squares_right = np.concatenate([[0.0], np.cumsum(right**2)])
    differences = (
        (squares_left[stop] - squares_left[first])
        + (squares_right[stop - shifts] - squares_right[first - shifts])
        - 2 * products[shifts % size]
    )
    enough = stop - first >= max(1, (min(len(reference), len(member)) + 1) // 2)
    fitting: Shifts = shifts[(np.abs(differences) < 0.5) & enough]
    # Those at which most is compared, if there are too many.
    compared = np.minimum(len(reference), len(member) + fitting) - np.maximum(fitting, 0)
    kept = np.argsort(-compared, kind="stable")[:_MOST_CANDIDATES]
    return np.sort(fitting[kept])


def is_whole(shift: int, reference: Numbers, member: Numbers) -> bool:
    """Whether all of the shorter one lies within the longer one at a shift."""
    return 0 <= shift <= len(reference) - len(member) or 0 <= -shift <= len(member) - len(reference)


def near_shifts(reference: Numbers, member: Numbers) -> Shifts:
    """Shifts at which most exchanges are equal, or at which the first ones are."""
    size = 1 << int(len(reference) + len(member) - 1).bit_length()
    shifts = np.arange(-(len(member) - 1), len(reference))
    compared = np.minimum(len(reference), len(member) + shifts) - np.maximum(shifts, 0)
    kinds, counts = np.unique(member, return_counts=True)
    equal = np.zeros(size)
    for kind in kinds[np.argsort(-counts, kind="stable")][:_MOST_KINDS].tolist():
        left, right = (reference == kind).astype(np.float64), (member == kind).astype(np.float64)
        equal += np.fft.irfft(np.fft.rfft(left, size) * np.conj(np.fft.rfft(right, size)), size)
    enough = compared >= max(1, (min(len(reference), len(member)) + 1) // 2)
    alike = shifts[(equal[shifts % size] >= _MOSTLY * compared) & enough]
    windows = [
        side
        for width, begin in ((_WINDOW, 0), (_SHORT_WINDOW, 0), (_SHORT_WINDOW, _SHORT_WINDOW))
        for side in (
            _places_of(member[begin : begin + width], reference) - begin,
            begin - _places_of(reference[begin : begin + width], member),
        )
    ]
    every = np.unique(np.concatenate([alike, *windows]))
    return np.sort(every[np.argsort(np.abs(every), kind="stable")[:_MOST_CANDIDATES]])


def _places_of(window: Numbers, tokens: Numbers) -> Shifts:
    if not len(window) or len(window) > len(tokens):
        return np.empty(0, np.int64)
    found = np.ones(len(tokens) - len(window) + 1, np.bool_)
    for place, token in enumerate(window.tolist()):
        found &= tokens[place : place + len(found)] == token
    return np.flatnonzero(found).astype(np.int64)


def chosen_shift(candidates: Shifts, reference: LocalGroup, member: LocalGroup) -> Shift:
    """The shift among those that fit which times or clocks tell."""
    if len(candidates) == 1:
        return Shift(int(candidates[0]), ONLY_ONE)
    by_clocks = _shift_by_clocks(candidates, reference, member)
    near = _neighbours(candidates, by_clocks.rows)
    # Where the neighbours of a shift fit clearly worse, so do all others: only one has the times.
    by_times = _shift_by_times(near, reference, member)
    if by_times is None and len(near) < len(candidates):
        by_times = _shift_by_times(candidates, reference, member)
    return by_times or by_clocks


def labelled_shift(candidates: Shifts, reference: LocalGroup, member: LocalGroup) -> Shift | None:
    """The shift that labels of steps tell; None without labels in common.

    A marker may begin a few exchanges earlier on another rank: if times tell a neighbour, it is
    that one. It is none of the candidates where none lies near.
    """
    labels = shifts_by_labels(reference, member)
    if not labels:
        return None
    labelled = labels[0]
    near = _neighbours(candidates, labelled)
    near = near[np.abs(near - labelled) <= _MARKED_AWAY]
    # A shift that leaves out rows of both is no better than the one of the labels.
    near = near[[is_whole(shift, reference.tokens, member.tokens) for shift in near.tolist()]]
    if labelled in candidates:
        near = np.union1d(near, [labelled])
    by_times = _shift_by_times(near, reference, member) if len(near) > 1 else None
    if by_times is not None:
        return Shift(by_times.rows, BY_LABELS)
    if len(near) and labelled not in near:
        return Shift(int(near[np.argmin(np.abs(near - labelled))]), BY_TIMES)
    return Shift(labelled, BY_LABELS)


def _neighbours(candidates: Shifts, shift: int) -> Shifts:
    place = int(np.searchsorted(candidates, shift))
    return candidates[max(place - _NEIGHBOURS, 0) : place + _NEIGHBOURS + 1]


def shifts_by_labels(reference: LocalGroup, member: LocalGroup) -> list[int]:
    """How far first exchanges of equally labelled steps are apart, what most of them say first.

    Several, if a rank lacks exchanges in the middle.
    """
    left, left_first = _first_of_labels(reference.label)
    right, right_first = _first_of_labels(member.label)
    common, left_at, right_at = np.intersect1d(left, right, return_indices=True)
    if not len(common):
        return []
    apart, counts = np.unique(left_first[left_at] - right_first[right_at], return_counts=True)
    order = np.argsort(-counts, kind="stable")
    return [int(shift) for shift in apart[order][: 1 + _MOST_EDITED_STEPS]]


def _first_of_labels(label: Times) -> tuple[Times, npt.NDArray[np.intp]]:
    changes = np.flatnonzero(np.concatenate([[True], label[1:] != label[:-1]]))
    # The first step of a recording may be cut; where it began says nothing.
    labels, first = np.unique(label[changes], return_index=True)
    known = labels >= 0
    return labels[known], changes[first[known]]


def _shift_by_times(candidates: Shifts, reference: LocalGroup, member: LocalGroup) -> Shift | None:
    """The shift at which the distances between ends agree, None where several do or none."""
    left, right = np.diff(reference.end_ns), np.diff(member.end_ns)
    first = np.maximum(candidates, 0)
    stop = np.minimum(len(left), len(right) + candidates)
    width = int(
        min(np.min(stop - first), max(_COMPARED_CELLS // len(candidates), 16), _MOST_COMPARED)
    )
    if width < _LEAST_COMPARED:
        return None
    # From where both begin: behind an exchange that one lacks another shift holds.
    cells = first[:, None] + np.arange(width)
    apart = np.median(np.abs(left[cells] - right[cells - candidates[:, None]]), axis=1)
    order = np.argsort(apart, kind="stable")
    best, second = apart[order[0]], apart[order[1]]
    if second < clearly_worse(width) * max(best, _RESOLUTION_NS):
        return None
    return Shift(int(candidates[order[0]]), BY_TIMES)


def clearly_worse(compared: int) -> float:
    """How many times greater a median distance of so many values must be to be none by chance.

    The median of n values is uncertain by 1.25 / sqrt(n); six times that tells apart the best two
    of some thousand.
    """
    return 1 + 8 / math.sqrt(compared)


def _shift_by_clocks(candidates: Shifts, reference: LocalGroup, member: LocalGroup) -> Shift:
    """The shift at which both clocks show about the same, if they do at one only."""
    middle = (np.maximum(candidates, 0) + np.minimum(len(reference), len(member) + candidates)) // 2
    middle = np.clip(middle, 0, len(reference) - 1)
    other = np.clip(middle - candidates, 0, len(member) - 1)
    apart = np.abs(reference.end_ns[middle] - member.end_ns[other])
    order = np.argsort(apart, kind="stable")
    best, second = order[0], order[1]
    if apart[second] >= _CLEARLY * max(int(apart[best]), _RESOLUTION_NS):
        return Shift(int(candidates[best]), BY_CLOCKS)
    return Shift(int(candidates[np.argmin(np.abs(candidates))]), A_GUESS)
