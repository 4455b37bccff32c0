"""Which ops a call launched, whatever the ids and their order."""

from __future__ import annotations

import numpy as np
import pytest

from tests.builders import a_trace
from wavescope.formats import id_index
from wavescope.formats.id_index import IdIndex
from wavescope.formats.timeline.launches import Launches
from wavescope.model.builder import TraceBuilder
from wavescope.model.columns import CALLS, LINKS, OPS


def source(call_ids: list[int], op_ids: list[int], links: list[tuple[int, int]]) -> TraceBuilder:
    builder = TraceBuilder("test", "test")
    for table, ids in ((CALLS, call_ids), (OPS, op_ids)):
        builder.add(table, {"id": np.array(ids), "start_ns": np.zeros(len(ids))})
    calls, ops = (np.array(column, np.int64) for column in zip(*links, strict=True))
    builder.add(LINKS, {"call": calls, "op": ops})
    return builder


SPARSE = 1 << 50


@pytest.mark.parametrize("scale", [1, SPARSE])
def test_ops_are_listed_per_call(scale: int) -> None:
    builder = source(
        [1 * scale, 2 * scale, 7 * scale],
        [1 * scale, 3 * scale, 4 * scale],
        [
            (7 * scale, 4 * scale),
            (2 * scale, 1 * scale),
            (7 * scale, 3 * scale),
            (9, 1),
            (1 * scale, 99),
        ],
    )
    launches = Launches(builder, unique=False)

    offsets, ops = launches.ops_of(np.array([7, 1, 2]) * scale)

    assert offsets.tolist() == [0, 2, 2, 3]
    assert (ops // scale).tolist() == [4, 3, 1]
    assert launches.is_linked(np.array([1, 3, 4]) * scale).all()
    launches.close()


def test_only_the_first_link_of_an_op_counts_when_unique() -> None:
    launches = Launches(source([1, 2], [5], [(2, 5), (1, 5)]), unique=True)

    offsets, ops = launches.ops_of(np.array([1, 2]))

    assert (offsets.tolist(), ops.tolist()) == ([0, 0, 1], [5])
    launches.close()


def test_an_op_counts_as_launched_once() -> None:
    launches = Launches(source([1, 2], [5, 6], [(2, 5), (1, 5), (2, 6)]), unique=False)
    launches.note_series(np.array([5, 6]), np.array([3, 4], np.int32))

    first = launches.first_launches(*launches.ops_of(np.array([1])), np.array([100]))
    second = launches.first_launches(*launches.ops_of(np.array([2])), np.array([200]))

    assert [column.tolist() for column in first] == [[3], [100]]
    assert [column.tolist() for column in second] == [[4], [200]]
    launches.close()


def test_many_links_are_found_in_their_buckets() -> None:
    rng = np.random.default_rng(5)
    calls = rng.integers(1, 3001, 10_000)
    builder = source(
        list(range(1, 3001)),
        list(range(1, 10_001)),
        list(zip(calls.tolist(), range(1, 10_001), strict=True)),
    )
    launches = Launches(builder, unique=False)
    asked = rng.permutation(3000) + 1

    offsets, ops = launches.ops_of(asked)

    for index, call in enumerate(asked.tolist()):
        expected = np.flatnonzero(calls == call) + 1
        assert ops[offsets[index] : offsets[index + 1]].tolist() == expected.tolist()
    launches.close()


def test_ids_that_become_sparse_are_found() -> None:
    builder = TraceBuilder("test", "test")
    builder.add(OPS, {"id": np.array([1, 2])})
    builder.add(OPS, {"id": np.array([3, 1 << 60])})

    index = IdIndex(builder, OPS)

    assert index.positions(np.array([1, 1 << 60, 4, -1])).tolist() == [0, 3, -1, -1]


def test_a_table_without_rows_has_no_positions() -> None:
    assert IdIndex(a_trace().builder, OPS).positions(np.array([1])).tolist() == [-1]
    assert id_index.IdIndex(a_trace().builder, CALLS).size == 0
