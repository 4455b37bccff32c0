"""Members' exchanges placed against each other by what they are, without sequence numbers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.matching.edits import Placed, placed_at, placed_with_edits
from wavescope.analyze.ranks.matching.local_groups import LocalGroup
from wavescope.analyze.ranks.matching.shifts import (
    A_GUESS,
    BY_TIMES,
    Shifts,
    chosen_shift,
    exact_shifts,
    is_whole,
    labelled_shift,
    near_shifts,
    shifts_by_labels,
)
from wavescope.analyze.ranks.matching.time_placing import is_better, is_suspicious, placed_by_times
from wavescope.arrays.intervals import Times

_MOST_ADDED = 1 << 10
_MARKED_AWAY = 2
_EDITED = 0.9
"""What remains of certainty where a rank lacks exchanges or has others."""


class Alignment(NamedTuple):
    """Keys of the members' rows: equal keys are one exchange."""

    keys: list[Times]
    """By member and row, ascending with time; `MISSING` for rows that could not be placed."""
    certainty: list[float]
    """By member: how sure its place is."""
    is_edited: list[bool]
    """By member: whether it lacks exchanges of the reference, or has others."""


def aligned(members: Sequence[LocalGroup]) -> Alignment:
    """Members by the order of what they do, each against one of them."""
    reference = _reference(members)
    finder = _ShiftFinder(reference)
    placed, certainty, edited = [], [], []
    for member in members:
        if member is reference:
            placed.append(placed_at(0, len(member)))
            certainty.append(1.0)
            edited.append(False)
            continue
        rows, sure, is_edited = _placed(finder, member)
        placed.append(rows)
        certainty.append(sure)
        edited.append(is_edited)
    return Alignment(_keys(placed, members), certainty, edited)


def _reference(members: Sequence[LocalGroup]) -> LocalGroup:
    """One that did what most did, of these with most rows: it hardly lacks something."""
    tokens = [member.tokens.tobytes() for member in members]
    alike = Counter(tokens)
    place = max(range(len(members)), key=lambda each: (alike[tokens[each]], len(members[each])))
    return members[place]


def _placed(finder: _ShiftFinder, member: LocalGroup) -> tuple[Placed, float, bool]:
    """Where a member's rows stand, how sure that is, and whether it lacks some or has others."""
    reference = finder.reference
    exact = finder.exact(member)
    shift = labelled_shift(exact, reference, member)
    if shift is None:
        shift = chosen_shift(finder.possible(member), reference, member)
    is_exact = shift.rows in exact
    if is_exact and not is_suspicious(shift.rows, reference, member):
        return placed_at(shift.rows, len(member)), shift.certainty, False
    labels = shifts_by_labels(reference, member)
    possible = [] if is_exact else finder.possible(member).tolist()
    candidates = np.unique(np.array([*possible, *labels, shift.rows], np.int64))
    by_times = placed_by_times(reference, member, candidates)
    if by_times is not None and (
        not is_exact or is_better(by_times, shift.rows, reference, member)
    ):
        return by_times, BY_TIMES * _EDITED, True
    if is_exact:
        # Labels that differ by more than where a step begins say that one shift is not all.
        is_sure = not labels or max(labels) - min(labels) <= _MARKED_AWAY
        sure = shift.certainty if is_sure else A_GUESS
        return placed_at(shift.rows, len(member)), sure, False
    rows = placed_with_edits(reference, member, shift.rows)
    return rows, shift.certainty * (A_GUESS if rows.is_left_out else _EDITED), True


@dataclass
class _ShiftFinder:
    """Shifts against one reference; ranks that did the same are looked at once."""

    reference: LocalGroup
    _known: dict[bytes, Shifts] = field(default_factory=dict)
    _near: dict[bytes, Shifts] = field(default_factory=dict)

    def exact(self, member: LocalGroup) -> Shifts:
        tokens = member.tokens.tobytes()
        if tokens not in self._known:
            self._known[tokens] = exact_shifts(self.reference.tokens, member.tokens)
        return self._known[tokens]

    def possible(self, member: LocalGroup) -> Shifts:
        """Shifts at which all is equal; with others where that leaves out a part of both."""
        exact = self.exact(member)
        whole = [
            shift
            for shift in exact.tolist()
            if is_whole(shift, self.reference.tokens, member.tokens)
        ]
        if whole:
            return exact
        tokens = member.tokens.tobytes()
        if tokens not in self._near:
            near = np.append(near_shifts(self.reference.tokens, member.tokens), 0)
            self._near[tokens] = np.union1d(exact, near)
        return self._near[tokens]


def _keys(placed: Sequence[Placed], members: Sequence[LocalGroup]) -> list[Times]:
    least = min((int(rows.position.min()) for rows in placed if len(rows.position)), default=0)
    if not any(bool(rows.extra.any()) for rows in placed):
        return [rows.position - least for rows in placed]
    token_count = 1 + max(int(member.tokens.max(initial=0)) for member in members)
    return [
        _key_with_extra(rows, member, least, token_count)
        for rows, member in zip(placed, members, strict=True)
    ]


def _key_with_extra(rows: Placed, member: LocalGroup, least: int, token_count: int) -> Times:
    # Rows that the reference lacks are one exchange where they are the same on several ranks.
    added = np.minimum(rows.extra, _MOST_ADDED - 1) * token_count + member.tokens
    within = np.where(rows.extra > 0, 1 + added, 0)
    keys = (rows.position - least + 1) * (1 + _MOST_ADDED * token_count) + within
    keys[rows.extra < 0] = MISSING
    # More extra rows than there is room for would share a key.
    keys[rows.extra >= _MOST_ADDED - 1] = MISSING
    placed: Times = keys
    return placed
