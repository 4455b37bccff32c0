"""Grouped statistics against naive ones, over all ways of sorting."""

from __future__ import annotations

import math
import statistics
from collections import defaultdict
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.groups import GroupStatistics, group_statistics

INT64 = st.integers(-(2**63), 2**63 - 1)
PERCENTS = (1, 50, 95, 99, 100)


def nearest_rank(values: list[int], percent: int) -> int:
    """The smallest value that at least `percent` % of all values do not exceed."""
    enough = Fraction(percent, 100) * len(values)
    return next(value for value in sorted(values) if sum(v <= value for v in values) >= enough)


def computed(pairs: list[tuple[int, int]], group_count: int) -> GroupStatistics:
    groups = np.array([group for group, _ in pairs], np.int64)
    values = np.array([value for _, value in pairs], np.int64)
    return group_statistics(groups, values, group_count)


@pytest.mark.parametrize(
    ("values", "group_count"),
    [
        (st.integers(0, 100), 4),
        (st.integers(-(2**40), 2**40), 4),
        (INT64, 4),
        (st.integers(0, 2**20), 1 << 20),
        (st.integers(0, 2**60), 1 << 20),
    ],
    ids=["narrow slices", "wide slices", "full range", "one packed key", "two keys"],
)
def test_equals_the_naive_definition(values: st.SearchStrategy[int], group_count: int) -> None:
    groups = st.sampled_from([0, 1, 2, group_count - 1])

    @given(st.lists(st.tuples(groups, values), min_size=1, max_size=40))
    def check(pairs: list[tuple[int, int]]) -> None:
        found = computed(pairs, group_count)

        expected = defaultdict(list)
        for group, value in pairs:
            expected[group].append(value)
        assert found.groups.tolist() == sorted(expected)
        for index, group in enumerate(sorted(expected)):
            own = expected[group]
            assert found.counts[index] == len(own)
            assert found.totals[index] == sum(own)
            assert found.means[index] == sum(own) / len(own)
            assert (found.minima[index], found.maxima[index]) == (min(own), max(own))
            for percent in PERCENTS:
                assert found.percentiles(percent)[index] == nearest_rank(own, percent)
            exact = math.sqrt(statistics.pvariance([Fraction(value) for value in own]))
            assert math.isclose(
                found.std[index], exact, rel_tol=1e-9, abs_tol=1e-9 * max(map(abs, own))
            )

    check()


def test_a_small_spread_of_large_values_is_not_lost() -> None:
    base = 1_700_000_000_000_000_000

    found = computed([(0, base), (0, base + 2), (0, base + 4)], 1)

    assert found.std[0] == pytest.approx(math.sqrt(8 / 3), rel=1e-12)


def test_totals_beyond_64_bits_are_exact() -> None:
    largest = 2**63 - 1

    found = computed([(0, largest), (0, largest), (1, -(2**63)), (1, -(2**63))], 2)

    assert found.totals == [2 * largest, -(2**64)]


def test_no_values_give_no_groups() -> None:
    found = computed([], 5)

    assert len(found) == 0
    assert (found.totals, found.means) == ([], [])
    assert found.percentiles(50).tolist() == []
    assert found.maxima.tolist() == []


def test_many_groups_are_sorted_by_one_key() -> None:
    rng = np.random.default_rng(5)
    groups = rng.integers(0, 5_000, 50_000)
    values = rng.integers(0, 1_000_000, 50_000)

    found = group_statistics(groups, values, 5_000)

    order = np.lexsort((values, groups))
    firsts = np.searchsorted(groups[order], found.groups)
    assert found.minima.tolist() == values[order][firsts].tolist()
    assert found.totals == np.bincount(groups, values, 5_000).astype(int)[found.groups].tolist()
