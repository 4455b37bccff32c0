"""Parts of ranks told by how long passes from one end to the next."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from wavescope.analyze.ranks.matching.time_partition import partition_by_times

PAIRS = [[0, 1], [2, 3], [4, 5]]
STRIDES = [[0, 3], [1, 4], [2, 5]]


def ends_of(parts: list[list[int]], rank_count: int = 6) -> npt.NDArray[np.int64]:
    """Ends of 40 exchanges of each part, the ranks of a part within a microsecond."""
    rng = np.random.default_rng(5)
    ends = np.empty((rank_count, 40), np.int64)
    for part in parts:
        together = np.cumsum(rng.integers(1_000_000, 9_000_000, 40))
        ends[part] = together + rng.integers(0, 1_000, (len(part), 40))
    return ends


def test_parts_are_told_by_times_with_and_without_ways() -> None:
    for ways in (None, [PAIRS, STRIDES]):
        partition = partition_by_times(ends_of(STRIDES), 2, ways)

        assert partition is not None
        assert partition.parts == STRIDES
        assert partition.separation > 100


def test_parts_that_are_none_of_the_ways_are_not_told() -> None:
    assert partition_by_times(ends_of(STRIDES), 2, [PAIRS]) is None
    assert partition_by_times(ends_of([[0, 1], [2, 4], [3, 5]]), 2, [PAIRS, STRIDES]) is None
