"""Words for when something was late."""

from __future__ import annotations

import pytest

from wavescope.analyze.ranks.stragglers.recurrence import recurrence_text, rotation_text


@pytest.mark.parametrize(
    ("late", "expected"),
    [
        (range(20), "in 20 of 20 steps"),
        ((1, 5, 9, 13, 17), "in 5 of 20 steps"),
        (range(8, 14), "in steps 8-13 only (6 of 20)"),
        ((8, 9, 11, 12), "in steps 8-12 only (4 of 20)"),
        ((7,), "in step 7 only (1 of 20)"),
    ],
)
def test_recurrence(late: range | tuple[int, ...], expected: str) -> None:
    assert recurrence_text(tuple(late), 20) == expected


def test_rotation_names_ranks_in_the_order_of_their_turns() -> None:
    late = [(0, (4, 5)), (1, (0, 1, 6, 7)), (2, (2, 3))]

    assert rotation_text(late, [10, 11, 12]) == "another rank every 2 steps: 11, 12, 10, 11"
    assert rotation_text([(0, (1,)), (1, (0,))], [3, 9]) == "another rank every step: 9, 3"
