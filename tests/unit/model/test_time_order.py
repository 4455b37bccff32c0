"""Ops come out in start order, whether they fit in memory or not."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.builders import TraceMaker, a_trace, random_ops
from wavescope.model import time_order
from wavescope.model.columns import OPS
from wavescope.model.time_order import time_ordered


def test_what_encloses_comes_first_and_ids_break_ties() -> None:
    maker = a_trace().with_kernel("late", 9, 12).with_kernel("inner", 1, 3)
    maker.with_kernel("outer", 1, 8).with_kernel("twin", 1, 3)

    (batch,) = time_ordered(maker.builder, OPS, ("id", "start_ns"))

    assert batch["id"].tolist() == [3, 2, 4, 1]
    assert list(batch) == ["id", "start_ns"]


@pytest.mark.parametrize("rows_in_memory", [1 << 20, 1000])
def test_large_traces_are_ordered_through_the_disk(rows_in_memory: int) -> None:
    source = random_ops(300_000).builder

    batches = list(
        time_ordered(source, OPS, ("id", "start_ns", "name"), rows_in_memory=rows_in_memory)
    )
    starts = np.concatenate([batch["start_ns"] for batch in batches])
    ids = np.concatenate([batch["id"] for batch in batches])

    assert len(batches) > 1
    assert bool((np.diff(starts) >= 0).all())
    assert np.array_equal(np.sort(ids), np.arange(1, 300_001))


def nearly_ordered(rows: int, distance: int) -> TraceMaker:
    """Ops that are at most `distance` places from where they belong, many with equal starts."""
    rng = np.random.default_rng(distance)
    order = np.argsort(np.arange(rows) + rng.integers(0, distance + 1, rows), kind="stable")
    starts = np.arange(rows)[order] // 3
    maker = a_trace()
    maker.builder.add(OPS, {"start_ns": starts, "end_ns": starts + rng.integers(0, 9, rows)})
    return maker


@pytest.mark.parametrize(("distance", "uses_disk"), [(0, False), (3_000, False), (5_000_000, True)])
def test_rows_near_their_place_need_no_disk(
    monkeypatch: pytest.MonkeyPatch, distance: int, uses_disk: bool
) -> None:
    source = nearly_ordered(600_000, distance).builder
    opened = []
    sorted_rows = time_order._in_buckets
    monkeypatch.setattr(
        time_order, "_in_buckets", lambda *given: opened.append(1) or sorted_rows(*given)
    )
    names = ("id", "start_ns", "end_ns")

    batches = list(time_ordered(source, OPS, names, rows_in_memory=150_000))

    found = {name: np.concatenate([batch[name] for batch in batches]) for name in names}
    (whole,) = source.batches(OPS, names, rows=1 << 20)
    order = np.lexsort((whole["id"], -whole["end_ns"], whole["start_ns"]))
    assert all(np.array_equal(found[name], whole[name][order]) for name in names)
    assert bool(opened) == uses_disk


@given(st.lists(st.tuples(st.integers(0, 20), st.integers(0, 20)), max_size=40))
def test_disk_and_memory_agree(rows: list[tuple[int, int]]) -> None:
    maker = a_trace()
    for start, length in rows:
        maker.with_kernel("k", start, start + length)

    def ids(rows_in_memory: int) -> list[int]:
        batches = time_ordered(maker.builder, OPS, ("id",), rows_in_memory=rows_in_memory)
        return [int(i) for batch in batches for i in batch["id"]]

    assert ids(0) == ids(1000)


def test_an_empty_trace_has_no_batches() -> None:
    assert list(time_ordered(a_trace().builder, OPS, ("id",))) == []
