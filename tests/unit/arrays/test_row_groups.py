"""Rows of a pair come together, whether pairs are few enough to be numbered or not."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays import groups as row_groups
from wavescope.arrays.groups import RowGroups, grouped_rows


@pytest.fixture(params=["numbered", "sorted"], autouse=True, scope="module")
def _way(request: pytest.FixtureRequest) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        if request.param == "sorted":
            patch.setattr(row_groups, "MOST_GROUPS", 0)
        yield


def grouped(major: np.ndarray, minor: np.ndarray) -> RowGroups:
    """Row numbers, grouped."""
    return grouped_rows(major, minor, [np.arange(len(major))])


def as_dict(groups: RowGroups) -> dict[tuple[int, int], list[int]]:
    return {
        (major, minor): groups.columns[0][place].tolist()
        for major, members in groups.by_major()
        for minor, place in members
    }


def expected(major: np.ndarray, minor: np.ndarray) -> dict[tuple[int, int], list[int]]:
    pairs = list(zip(major.tolist(), minor.tolist(), strict=True))
    return {
        pair: [row for row, other in enumerate(pairs) if other == pair]
        for pair in sorted(set(pairs))
    }


def test_rows_of_a_pair_come_together_in_their_order() -> None:
    groups = grouped(np.array([1, 0, 1, 0, 1]), np.array([7, 9, 7, 8, 6]))

    assert list(groups.by_major()) == [
        (0, [(8, slice(0, 1)), (9, slice(1, 2))]),
        (1, [(6, slice(2, 3)), (7, slice(3, 5))]),
    ]
    assert groups.columns[0].tolist() == [3, 1, 4, 0, 2]


def test_no_rows_no_groups() -> None:
    nothing = np.empty(0, np.int64)

    assert list(grouped(nothing, nothing).by_major()) == []


@pytest.mark.parametrize("major_step", [1, 300, 2**40])
@pytest.mark.parametrize("minor_step", [1, 255, 256, 9_000, 2**57])
def test_any_spacing_of_values(major_step: int, minor_step: int) -> None:
    generator = np.random.default_rng(5)
    major = generator.integers(-3, 4, 400) * major_step
    minor = generator.integers(-2, 8, 400) * minor_step

    assert as_dict(grouped(major, minor)) == expected(major, minor)


def test_a_rare_value_is_not_lost_among_many_rows() -> None:
    minor = np.full(50_000, 2**50)
    minor[4_321] = -(2**50)

    groups = grouped(np.zeros(50_000, np.int32), minor)

    assert groups.minors.tolist() == [-(2**50), 2**50]
    assert groups.columns[0][0] == 4_321


def test_as_many_groups_as_rows() -> None:
    major = np.arange(70_000)[::-1]

    groups = grouped(major, major)

    assert groups.columns[0].tolist() == major.tolist()
    assert groups.majors.tolist() == groups.minors.tolist() == sorted(major.tolist())


@given(st.lists(st.tuples(*[st.integers(-(2**63), 2**63 - 1) | st.integers(0, 3)] * 2), max_size=9))
def test_any_int64_pairs(pairs: list[tuple[int, int]]) -> None:
    major = np.array([pair[0] for pair in pairs], np.int64)
    minor = np.array([pair[1] for pair in pairs], np.int64)

    assert as_dict(grouped(major, minor)) == expected(major, minor)
