"""Records in partitions: the same whether they fit in memory or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.arrays.partitioned_rows import PartitionedRows

RECORD = [("key", np.int64), ("value", np.int32)]
batches = st.lists(st.lists(st.tuples(st.integers(0, 5), st.integers(-(1 << 60), 1 << 60))))


@given(batches=batches, limit=st.sampled_from([0, 100, 1 << 20]))
def test_each_partition_holds_its_rows_in_order(
    batches: list[list[tuple[int, int]]], limit: int
) -> None:
    expected: dict[int, list[tuple[int, int]]] = {}
    with PartitionedRows(RECORD, memory_limit_bytes=limit) as rows:
        for batch in batches:
            numbers = np.array([number for number, _ in batch], np.int64)
            keys = np.array([key for _, key in batch], np.int64)
            values = np.arange(len(batch))
            rows.add(numbers, key=keys, value=values)
            for number, key, value in zip(numbers, keys, values, strict=True):
                expected.setdefault(int(number), []).append((int(key), int(value)))

        assert len(rows) == sum(map(len, batches))
        assert rows.numbers() == sorted(expected)
        for number in range(6):
            assert rows.partition(number).tolist() == expected.get(number, [])


def test_a_closed_one_gives_its_file_back() -> None:
    rows = PartitionedRows(RECORD, memory_limit_bytes=0)
    rows.add(np.zeros(3, np.int64), key=np.arange(3), value=np.arange(3))

    rows.close()

    assert len(rows) == 0
    with pytest.raises(OSError, match="Bad file descriptor"):
        rows.add(np.zeros(3, np.int64), key=np.arange(3), value=np.arange(3))
