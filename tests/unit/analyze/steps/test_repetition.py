"""What repeats in a sequence of labels, and how often."""

from __future__ import annotations

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from wavescope.analyze.steps.repetition import (
    LabelPositions,
    Repetition,
    repetitions,
    running_signatures,
)


def found_in(labels: list[int]) -> list[Repetition]:
    sequence = np.array(labels, np.uint16)
    return repetitions(LabelPositions.of(sequence), running_signatures(sequence))


def test_a_period_is_found_once_whatever_label_shows_it() -> None:
    (only,) = found_in([1, 2, 3] * 4)

    assert only.period == 3
    assert sorted(only.anchors) == [1, 2, 3]
    assert only.covered_ops == 9  # the last period has no following occurrence to end it


def test_layers_within_steps_are_two_repetitions() -> None:
    step = [0, *([1, 2, 3, 4] * 6), 5]

    by_period = {r.period: sorted(r.anchors) for r in found_in(step * 5)}

    assert by_period == {4: [1, 2, 3, 4], 26: [0, 5]}


def test_two_in_a_row_are_no_repetition() -> None:
    assert found_in([1, 2, 3, 1, 2, 3]) == []


def test_nothing_repeats_in_nothing() -> None:
    assert found_in([]) == []


def test_signatures_do_not_depend_on_the_order() -> None:
    sums = running_signatures(np.array([4, 7, 7, 4, 7, 7, 4], np.uint16))

    of_three = sums[3:] - sums[:-3]

    assert len(set(of_three.tolist())) == 1
    assert of_three[0] != (sums[2:] - sums[:-2])[0]


@given(
    st.lists(st.integers(0, 20), min_size=2, max_size=40),
    st.integers(4, 12),
    st.lists(st.integers(0, 40), max_size=30),
)
def test_every_repeated_block_is_among_what_is_found(
    block: list[int], times: int, before: list[int]
) -> None:
    anchor = 50  # occurs once in the block and nowhere else

    found = found_in([*before, *([anchor, *block] * times)])

    assert any(r.period == len(block) + 1 and anchor in r.anchors for r in found)


def test_sampled_labels_show_the_same_as_all_of_them() -> None:
    step = [0, *([1, 2] * 40)]

    found = {r.period: r for r in found_in(step * 1000)}

    assert found[81].anchors == [0]
    assert found[81].covered_ops == 80_919
    assert found[2].covered_ops == 75_981  # of 80,000: estimated from a sample
