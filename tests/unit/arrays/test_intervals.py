from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.typing import ArrayLike

from wavescope.arrays.intervals import (
    Intervals,
    as_rows,
    busy_at_depth,
    lengths_ns,
    overlap_depth,
    sorted_times,
    sum_of_lengths_ns,
    union_length_ns,
)

WIDTH = 40
LOWEST, HIGHEST = -(2**63), 2**63 - 1

Pairs = list[tuple[int, int]]


def at_depth(starts: ArrayLike, ends: ArrayLike) -> list[int]:
    """`busy_at_depth` of rows in any order."""
    return busy_at_depth(*map(sorted_times, as_rows(starts, ends)))


def pairs_up_to(width: int, most: int = 12) -> st.SearchStrategy[Pairs]:
    times = st.integers(0, width)
    ordered = st.tuples(times, times).map(lambda pair: (min(pair), max(pair)))
    return st.lists(ordered, max_size=most)


small_pairs = pairs_up_to(WIDTH)


def columns(pairs: Pairs) -> tuple[list[int], list[int]]:
    return [start for start, _ in pairs], [end for _, end in pairs]


def of(*pairs: tuple[int, int]) -> Intervals:
    return Intervals.from_pairs(*columns(list(pairs)))


def depth_bitmap(pairs: Pairs) -> np.ndarray:
    bitmap = np.zeros(WIDTH + 1, np.int64)
    for start, end in pairs:
        bitmap[start:end] += 1
    return bitmap


def bitmap_of(intervals: Intervals) -> np.ndarray:
    pairs = list(zip(intervals.starts.tolist(), intervals.ends.tolist(), strict=True))
    bitmap = depth_bitmap(pairs)
    assert bitmap.max(initial=0) <= 1
    return bitmap.astype(bool)


def as_list(intervals: Intervals) -> Pairs:
    return list(zip(intervals.starts.tolist(), intervals.ends.tolist(), strict=True))


def test_from_pairs_merges_overlapping_and_touching_rows_and_drops_empty_ones() -> None:
    busy = of((5, 7), (0, 2), (1, 3), (7, 9), (20, 20), (12, 13))

    assert as_list(busy) == [(0, 3), (5, 9), (12, 13)]
    assert busy.total_ns == 8
    assert busy.lengths_ns.tolist() == [3, 4, 1]
    assert busy.span == (0, 13)
    assert len(busy) == 3


def test_set_operations_on_a_worked_example() -> None:
    compute = of((0, 10), (20, 30))
    communication = of((5, 25), (28, 40))

    assert as_list(compute.union(communication)) == [(0, 40)]
    assert as_list(compute.intersect(communication)) == [(5, 10), (20, 25), (28, 30)]
    assert as_list(communication.subtract(compute)) == [(10, 20), (30, 40)]
    assert as_list(compute.gaps()) == [(10, 20)]
    assert as_list(compute.gaps(within=(-5, 35))) == [(-5, 0), (10, 20), (30, 35)]
    assert as_list(compute.clip(8, 21)) == [(8, 10), (20, 21)]
    assert compute.contains_points([-1, 0, 9, 10, 29, 30]).tolist() == [
        False,
        True,
        True,
        False,
        True,
        False,
    ]


def test_the_empty_set() -> None:
    nothing = Intervals.empty()

    assert nothing == of() == of((3, 3))
    assert nothing.total_ns == 0
    assert nothing.span is None
    assert nothing.union(of((1, 2))) == of((1, 2))
    assert nothing.intersect(of((1, 2))) == nothing
    assert nothing.subtract(of((1, 2))) == nothing
    assert of((1, 2)).subtract(nothing) == of((1, 2))
    assert nothing.gaps() == nothing
    assert nothing.gaps(within=(3, 5)) == of((3, 5))
    assert nothing.gaps(within=(3, 3)) == nothing
    assert nothing.clip(0, 9) == nothing
    assert nothing.contains_points([1, 2]).tolist() == [False, False]
    assert union_length_ns([], []) == 0
    assert [column.tolist() for column in overlap_depth([], [])] == [[], []]
    assert at_depth([], []) == at_depth([5], [5]) == []


def test_the_ends_of_int64_are_exact() -> None:
    everything = of((LOWEST, -1), (-1, HIGHEST))

    assert as_list(everything) == [(LOWEST, HIGHEST)]
    assert everything.total_ns == 2**64 - 1
    assert union_length_ns([LOWEST, HIGHEST - 1], [LOWEST + 1, HIGHEST]) == 2
    assert as_list(of((LOWEST, 0)).gaps(within=(LOWEST, HIGHEST))) == [(0, HIGHEST)]
    with pytest.raises(OverflowError, match="longer than int64"):
        _ = everything.lengths_ns

    times, depth = overlap_depth([LOWEST, -5], [HIGHEST, 5])
    assert times.tolist() == [LOWEST, -5, 5, HIGHEST]
    assert depth.tolist() == [1, 2, 1, 0]
    assert at_depth([LOWEST], [HIGHEST]) == [0, 2**64 - 1]
    assert at_depth([LOWEST] * 9, [HIGHEST] * 9) == [0] * 9 + [2**64 - 1]


def test_epoch_nanoseconds_keep_their_last_digit() -> None:
    epoch = 1_700_000_000_123_456_789

    assert union_length_ns([epoch, epoch + 1], [epoch + 1, epoch + 3]) == 3
    assert at_depth([epoch, epoch + 5], [epoch + 2, epoch + 6]) == [3, 3]


@pytest.mark.parametrize(
    ("starts", "ends", "error", "message"),
    [
        ([0, 5], [1, 4], ValueError, "row 1 ends before it starts"),
        ([0], [1, 4], ValueError, "1 starts but 2 ends"),
        ([0.5], [1.5], TypeError, "integer nanoseconds"),
        ([[0]], [[1]], ValueError, "one-dimensional"),
        (np.array([2**63], np.uint64), np.array([2**63], np.uint64), ValueError, "fit int64"),
    ],
)
def test_meaningless_rows_are_refused(
    starts: list[int], ends: list[int], error: type[Exception], message: str
) -> None:
    for operator in (Intervals.from_pairs, union_length_ns, overlap_depth, at_depth):
        with pytest.raises(error, match=message):
            operator(starts, ends)


@pytest.mark.parametrize(
    "pairs", [[(0, 0)], [(3, 2)], [(0, 2), (2, 3)], [(5, 6), (1, 2)], [(0, 3), (2, 5)]]
)
def test_the_constructor_takes_only_normalised_arrays(pairs: Pairs) -> None:
    with pytest.raises(ValueError, match="from_pairs"):
        Intervals(*(np.array(column) for column in columns(pairs)))


def test_a_set_cannot_be_changed_and_its_repr_stays_short() -> None:
    busy = Intervals.from_pairs(np.arange(0, 40, 4), np.arange(1, 41, 4))

    with pytest.raises(ValueError, match="read-only"):
        busy.starts[0] = 7
    with pytest.raises(TypeError, match="unhashable"):
        hash(busy)
    assert busy != "busy"
    assert (
        repr(busy) == "Intervals([0, 1), [4, 5), [8, 9), [12, 13), [16, 17), [20, 21), ... 4 more)"
    )
    with pytest.raises(ValueError, match="before it starts"):
        busy.clip(5, 4)


@pytest.mark.parametrize("order", ["sorted", "nearly", "shuffled", "reversed"])
def test_sorted_times_sorts_whatever_the_order(order: str) -> None:
    generator = np.random.default_rng(7)
    times = np.sort(generator.integers(-(10**15), 10**15, 1000))
    given_times = {
        "sorted": times,
        "nearly": times.reshape(-1, 2)[:, ::-1].reshape(-1),
        "shuffled": generator.permutation(times),
        "reversed": times[::-1],
    }[order]

    assert sorted_times(given_times).tolist() == times.tolist()
    assert (sorted_times(given_times) is given_times) == (order == "sorted")


@given(small_pairs)
def test_union_agrees_with_a_bitmap(pairs: Pairs) -> None:
    covered = depth_bitmap(pairs) > 0
    union = Intervals.from_pairs(*columns(pairs))

    assert bitmap_of(union).tolist() == covered.tolist()
    assert union.total_ns == union_length_ns(*columns(pairs)) == covered.sum()


@given(small_pairs, small_pairs)
def test_set_operations_agree_with_bitmaps(first: Pairs, second: Pairs) -> None:
    a, b = of(*first), of(*second)
    in_a, in_b = depth_bitmap(first) > 0, depth_bitmap(second) > 0

    assert bitmap_of(a.union(b)).tolist() == (in_a | in_b).tolist()
    assert bitmap_of(a.intersect(b)).tolist() == (in_a & in_b).tolist()
    assert bitmap_of(a.subtract(b)).tolist() == (in_a & ~in_b).tolist()


@given(small_pairs, st.integers(0, WIDTH), st.integers(0, WIDTH))
def test_windows_agree_with_bitmaps(pairs: Pairs, edge: int, other_edge: int) -> None:
    busy = of(*pairs)
    covered = depth_bitmap(pairs) > 0
    start, end = sorted((edge, other_edge))
    window = np.zeros(WIDTH + 1, bool)
    window[start:end] = True

    assert bitmap_of(busy.clip(start, end)).tolist() == (covered & window).tolist()
    assert bitmap_of(busy.gaps(within=(start, end))).tolist() == (~covered & window).tolist()
    assert busy.contains_points(np.arange(WIDTH + 1)).tolist() == covered.tolist()


@given(small_pairs)
def test_depth_agrees_with_a_bitmap(pairs: Pairs) -> None:
    bitmap = depth_bitmap(pairs)
    times, depth = overlap_depth(*columns(pairs))

    steps = np.zeros(WIDTH + 1, np.int64)
    for time, following, value in zip(times[:-1], times[1:], depth[:-1], strict=True):
        steps[time:following] = value
    assert steps.tolist() == bitmap.tolist()
    assert depth[-1:].tolist() in ([], [0])
    assert np.all(np.diff(depth, prepend=0) != 0)
    assert np.all(np.diff(times) > 0)

    covered = np.flatnonzero(bitmap)
    inside = bitmap[covered[0] : covered[-1] + 1] if covered.size else bitmap[:0]
    assert at_depth(*columns(pairs)) == np.bincount(inside).tolist()


@pytest.mark.parametrize("stacked", [1, 3, 40])
def test_depth_of_stacks_of_any_height(stacked: int) -> None:
    starts = np.arange(stacked)
    ends = 1000 + np.arange(stacked)

    expected = [0] + [2] * (stacked - 1) + [1000 - (stacked - 1)]
    assert at_depth(starts, ends) == expected


@given(st.lists(st.tuples(*[st.integers(LOWEST, HIGHEST)] * 2).map(sorted), max_size=6))
def test_lengths_add_up_exactly(pairs: list[list[int]]) -> None:
    starts, ends = (np.array([pair[side] for pair in pairs], np.int64) for side in (0, 1))

    assert sum_of_lengths_ns(starts, ends[::-1]) == sum(end - start for start, end in pairs)


@pytest.mark.parametrize(
    ("longest", "width"), [(2**32 - 1, np.uint32), (2**32, np.int64), (2**40, np.int64)]
)
def test_lengths_are_short_where_all_fit(longest: int, width: type[np.integer]) -> None:
    starts = np.arange(70_000) * 3
    ends = starts + 5
    ends[69_000] += longest - 5

    lengths = lengths_ns(starts, ends)

    assert lengths.dtype == width
    assert lengths.tolist() == (ends - starts).tolist()


def test_the_sum_of_epoch_times_may_pass_int64() -> None:
    starts = np.full(1000, 1_700_000_000_000_000_000)

    assert sum_of_lengths_ns(starts, starts + 7) == 7000


@given(small_pairs, small_pairs, small_pairs)
def test_laws_of_sets(first: Pairs, second: Pairs, third: Pairs) -> None:
    a, b, c = of(*first), of(*second), of(*third)

    assert a.union(b) == b.union(a)
    assert a.intersect(b) == b.intersect(a)
    assert a.union(b).union(c) == a.union(b.union(c))
    assert a.intersect(b).intersect(c) == a.intersect(b.intersect(c))
    assert a.intersect(b.union(c)) == a.intersect(b).union(a.intersect(c))
    assert a.subtract(b.union(c)) == a.subtract(b).subtract(c)
    assert a.subtract(b).union(a.intersect(b)) == a
    assert a.union(a) == a.intersect(a) == a
    assert a.subtract(a) == Intervals.empty()


@given(small_pairs, small_pairs)
def test_lengths_of_unions_differences_and_gaps_add_up(first: Pairs, second: Pairs) -> None:
    a, b = of(*first), of(*second)

    assert a.union(b).total_ns == a.total_ns + b.total_ns - a.intersect(b).total_ns
    assert a.subtract(b).total_ns == a.union(b).total_ns - b.total_ns
    if a.span is not None:
        assert a.total_ns + a.gaps().total_ns == a.span[1] - a.span[0]


@given(st.lists(st.tuples(*[st.integers(LOWEST, HIGHEST)] * 2).map(sorted), max_size=6))
def test_any_int64_times_agree_with_python_integers(pairs: list[list[int]]) -> None:
    starts, ends = [pair[0] for pair in pairs], [pair[1] for pair in pairs]
    covered, reached = 0, LOWEST
    for start, end in sorted(zip(starts, ends, strict=True)):
        covered += max(0, end - max(start, reached))
        reached = max(reached, end)

    assert union_length_ns(starts, ends) == covered
    assert Intervals.from_pairs(starts, ends).total_ns == covered
