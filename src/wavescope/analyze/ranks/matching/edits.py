"""Two ranks' exchanges placed against each other where some are missing, doubled or different."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from wavescope.analyze.ranks.matching.local_groups import LocalGroup, Numbers
from wavescope.arrays.intervals import Times

MOST_EDITS = 200
_RESYNC_ROWS = 16
"""So many exchanges must be equal after a place where the ranks differ."""
_MIXED_EDITS = 6
_LONGEST_EDIT = 4096
_NEAR_ROWS = 32


class Placed(NamedTuple):
    """Where the rows of a rank stand among those of the reference."""

    position: Times
    """The row of the reference; before its first row negative."""
    extra: Times
    """0 for a row that stands at its position, n for the nth that the reference lacks after it."""
    is_left_out: bool
    """Whether the rest, from the first row with `extra` -1, could not be placed."""


def placed_at(shift: int, row_count: int) -> Placed:
    """All rows of a rank at a shift."""
    return Placed(np.arange(row_count) + shift, np.zeros(row_count, np.int64), False)


def placed_with_edits(reference: LocalGroup, member: LocalGroup, shift: int) -> Placed:
    """Rows of a rank that begins at a shift and differs in places."""
    placed = placed_at(shift, len(member))
    left, right = max(shift, 0), max(-shift, 0)
    for _ in range(MOST_EDITS):
        run = _equal_run(reference.tokens[left:], member.tokens[right:])
        placed.position[right : right + run] = np.arange(left, left + run)
        left, right = left + run, right + run
        if left >= len(reference) or right >= len(member):
            # What lies behind the end of the reference continues its count.
            rest = len(member) - right
            placed.position[right:] = np.arange(left, left + rest)
            return placed
        lost, added = _resync(reference.tokens[left:], member.tokens[right:])
        if lost is None:
            break
        back = _slide(reference, member, (left, right), lost, added)
        _write_edit(placed, (left, right), lost, added, back)
        left, right = left + lost, right + added
    placed.extra[right:] = -1
    return placed._replace(is_left_out=True)


def _equal_run(left: Numbers, right: Numbers) -> int:
    """How many rows from the first on are equal."""
    count, width = min(len(left), len(right)), 256
    done = 0
    while done < count:
        stop = min(done + width, count)
        differs = left[done:stop] != right[done:stop]
        if differs.any():
            return done + int(np.argmax(differs))
        done, width = stop, width * 4
    return count


def _resync(left: Numbers, right: Numbers) -> tuple[int | None, int]:
    """How many rows of the reference and of the rank to pass until both are equal again."""
    for lost, added in _few_edits():
        if _agrees(left[lost:], right[added:]):
            return lost, added
    lost_rows = _first_place(right[:_RESYNC_ROWS], left[:_LONGEST_EDIT])
    added_rows = _first_place(left[:_RESYNC_ROWS], right[:_LONGEST_EDIT])
    if lost_rows is not None and (added_rows is None or lost_rows <= added_rows):
        return lost_rows, 0
    if added_rows is not None:
        return 0, added_rows
    return None, 0


def _first_place(window: Numbers, tokens: Numbers) -> int | None:
    """Where these exchanges are first found in a row."""
    if not len(window) or len(window) > len(tokens):
        return None
    found = np.ones(len(tokens) - len(window) + 1, np.bool_)
    for place, token in enumerate(window.tolist()):
        found &= tokens[place : place + len(found)] == token
    return int(np.argmax(found)) if found.any() else None


def _few_edits() -> Iterator[tuple[int, int]]:
    """(1, 1) is another exchange in the same place, (1, 0) one that is missing."""
    for most in range(1, _MIXED_EDITS + 1):
        yield (most, most)
        for fewer in range(most):
            yield (most, fewer)
            yield (fewer, most)


def _agrees(left: Numbers, right: Numbers) -> bool:
    count = min(len(left), len(right), _RESYNC_ROWS)
    if count == 0:
        # Both at their ends together is agreement, one alone leaves a rest that nothing explains.
        return len(left) == len(right)
    return bool(np.array_equal(left[:count], right[:count]))


def _write_edit(placed: Placed, at: tuple[int, int], lost: int, added: int, back: int) -> None:
    """The rows of an edit; `back`: how many rows before it the edit really began."""
    left, right = at
    if back and added == 0:
        placed.position[right - back : right] += lost
    elif back:
        shifted = placed.position[right - back : right].copy()
        placed.position[right - back : right - back + added] = left - back - 1
        placed.extra[right - back : right - back + added] = np.arange(1, added + 1)
        placed.position[right - back + added : right + added] = shifted
        return
    same = min(lost, added)
    placed.position[right : right + same] = np.arange(left, left + same)
    placed.position[right + same : right + added] = left + same - 1
    placed.extra[right + same : right + added] = np.arange(1, added - same + 1)


def _slide(
    reference: LocalGroup, member: LocalGroup, at: tuple[int, int], lost: int, added: int
) -> int:
    """How many rows earlier than where it shows the ranks begin to differ, as times tell.

    Of several equal exchanges in a row any may be the missing one; the ends of the others have the
    distances that they have on the reference.
    """
    if lost and added:
        return 0
    left, right = at
    count = max(lost, added)
    source, place = (reference.tokens, left) if lost else (member.tokens, right)
    most = min(_LONGEST_EDIT, left, right)
    earlier = np.arange(1, most + 1)
    within = place - earlier + count < len(source)
    equal = within & (
        source[place - earlier] == source[np.where(within, place - earlier + count, 0)]
    )
    room = most if equal.all() else int(np.argmin(equal))
    if room in {0, most}:
        return 0
    before = np.arange(room + 1, min(room + _NEAR_ROWS, left, right) + 1)
    offset = np.median(reference.end_ns[left - before] - member.end_ns[right - before])
    earlier = np.arange(1, room + 1)
    as_shown = np.abs(reference.end_ns[left - earlier] - member.end_ns[right - earlier] - offset)
    if lost:
        moved = reference.end_ns[left - earlier + count] - member.end_ns[right - earlier]
    else:
        moved = reference.end_ns[left - earlier] - member.end_ns[right - earlier + count]
    gain = np.cumsum(as_shown - np.abs(moved - offset))
    best = int(np.argmax(gain))
    return best + 1 if gain[best] > 0 else 0
