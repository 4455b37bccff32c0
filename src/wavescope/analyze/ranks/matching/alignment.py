"""Members' exchanges placed against each other by what they are, without sequence numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.job import MISSING
from wavescope.analyze.ranks.matching.edits import Placed, placed_at, placed_with_edits
from wavescope.analyze.ranks.matching.local_groups import LocalGroup
from wavescope.analyze.ranks.matching.shifts import (
    A_GUESS,
    Shift,
    Shifts,
    chosen_shift,
    exact_shifts,
    window_shifts,
)
from wavescope.arrays.intervals import Times

_MOST_ADDED = 1 << 10
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
    """Members by the order of what they do, each against the one with most rows."""
    reference = max(members, key=len)
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


def _placed(finder: _ShiftFinder, member: LocalGroup) -> tuple[Placed, float, bool]:
    candidates = finder.exact(member)
    if len(candidates):
        shift = chosen_shift(candidates, finder.reference, member)
        return placed_at(shift.rows, len(member)), shift.certainty, False
    candidates = window_shifts(finder.reference.tokens, member.tokens)
    shift = (
        chosen_shift(candidates, finder.reference, member) if len(candidates) else Shift(0, A_GUESS)
    )
    rows = placed_with_edits(finder.reference, member, shift.rows)
    return rows, shift.certainty * (A_GUESS if rows.is_left_out else _EDITED), True


@dataclass
class _ShiftFinder:
    """Shifts against one reference; ranks that did the same are looked at once."""

    reference: LocalGroup
    _known: dict[bytes, Shifts] = field(default_factory=dict)

    def exact(self, member: LocalGroup) -> Shifts:
        tokens = member.tokens.tobytes()
        if tokens not in self._known:
            self._known[tokens] = exact_shifts(self.reference.tokens, member.tokens)
        return self._known[tokens]


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
