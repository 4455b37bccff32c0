"""Rows that go into a builder come out of it, in memory or spilled to disk."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import METADATA, OPS, PROCESSES
from wavescope.model.source import read_columns, read_metadata


def ops(builder: TraceBuilder, starts: list[int]) -> None:
    times = np.array(starts, np.int64)
    builder.add(OPS, {"start_ns": times, "end_ns": times + 1, "gpu": np.zeros(len(times))})


@pytest.mark.parametrize("memory_limit_bytes", [0, 1 << 30])
def test_rows_come_back_in_order_with_ids_from_one(memory_limit_bytes: int) -> None:
    builder = TraceBuilder("x", "test", memory_limit_bytes=memory_limit_bytes)
    ops(builder, [5, 3])
    ops(builder, [9])

    columns = read_columns(builder, OPS, ("id", "start_ns", "gpu", "stream"))

    assert columns["id"].tolist() == [1, 2, 3]
    assert columns["start_ns"].tolist() == [5, 3, 9]
    assert columns["gpu"].tolist() == [0, 0, 0]
    assert columns["stream"].tolist() == [-1, -1, -1]
    assert builder.row_count(OPS) == 3


def test_process_ids_start_at_zero() -> None:
    builder = TraceBuilder("x", "test")
    builder.add_row(PROCESSES, pid=10)
    builder.add_row(PROCESSES, pid=11, name="worker")

    columns = read_columns(builder, PROCESSES, ("id", "pid", "name"))

    assert columns["id"].tolist() == [0, 1]
    assert builder.strings.decode(columns["name"]) == ["", "worker"]


def test_batches_are_cut_to_the_asked_size() -> None:
    builder = TraceBuilder("x", "test")
    ops(builder, list(range(10)))

    sizes = [len(batch["start_ns"]) for batch in builder.batches(OPS, ("start_ns",), 4)]

    assert sizes == [4, 4, 2]


def test_a_batch_of_only_unknown_columns_has_the_right_length() -> None:
    builder = TraceBuilder("x", "test")
    ops(builder, [1, 2, 3])

    (batch,) = builder.batches(OPS, ("grid_x", "sequence"))

    assert batch["grid_x"].tolist() == [-1, -1, -1]
    assert batch["sequence"].tolist() == [0, 0, 0]


def test_of_repeated_metadata_the_last_counts() -> None:
    builder = TraceBuilder("x", "test")
    builder.add_row(METADATA, tag="host", value="a")
    builder.add_row(METADATA, tag="host", value="b")

    assert read_metadata(builder) == {"host": "b"}


@given(st.lists(st.lists(st.binary(max_size=20), max_size=5), max_size=5))
def test_texts_come_back_by_handle(blocks: list[list[bytes]]) -> None:
    builder = TraceBuilder("x", "test")
    handles = [builder.add_texts(block) for block in blocks]
    every = np.concatenate([np.empty(0, np.int64), *handles])

    texts = builder.texts(every)

    assert texts == [text.decode("utf-8", "replace") for block in blocks for text in block]
    builder.close()


def test_columns_that_outgrow_the_room_made_for_them_stay_in_order(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("wavescope.model.source._ROWS_OF_ROOM", 4)
    builder = TraceBuilder("x", "test")
    for starts in ([1, 2, 3], [4, 5], [6], [7]):
        ops(builder, starts)

    assert read_columns(builder, OPS, ("start_ns",))["start_ns"].tolist() == [1, 2, 3, 4, 5, 6, 7]
