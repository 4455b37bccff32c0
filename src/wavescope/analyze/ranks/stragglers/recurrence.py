"""In which steps something was late, in words."""

from __future__ import annotations

from collections.abc import Sequence

from wavescope.analyze.ranks.stragglers.limits import LIMITS

_SHOWN = 6


def recurrence_text(late: Sequence[int], step_count: int, noun: str = "steps") -> str:
    """Such as "in 18 of 20 steps" or "in steps 40-55 only"."""
    if is_temporary(late, step_count):
        first, last = late[0], late[-1]
        where = f"{noun} {first}-{last}" if last > first else f"{noun[:-1]} {first}"
        return f"in {where} only ({len(late)} of {step_count})"
    return f"in {len(late)} of {step_count} {noun}"


def is_temporary(late: Sequence[int], step_count: int) -> bool:
    """Whether it is late for one part of the run, and not all the time."""
    if not late:
        return False
    length = late[-1] - late[0] + 1
    return length <= LIMITS.always_share * step_count and len(late) >= LIMITS.run_density * length


def rotation_text(late: Sequence[tuple[int, Sequence[int]]], numbers: Sequence[int]) -> str:
    """Such as "another rank every 5 steps: 3, 9, 14", from places with their late steps."""
    turns = sorted((step, place) for place, steps in late for step in steps)
    order: list[int] = []
    for _, place in turns:
        if not order or order[-1] != place:
            order.append(place)
    every = max(1, round(len(turns) / max(len(order), 1)))
    shown = ", ".join(str(numbers[place]) for place in order[:_SHOWN])
    more = ", ..." if len(order) > _SHOWN else ""
    pace = "another rank every step" if every == 1 else f"another rank every {every} steps"
    return f"{pace}: {shown}{more}"
