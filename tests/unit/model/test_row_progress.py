"""How far the rows of a trace are: what the ids of those that come say of those that are left."""

from __future__ import annotations

import numpy as np

from tests.builders import TraceMaker, a_trace
from wavescope.model.columns import AGENTS, CALLS, OPS, Table
from wavescope.model.row_progress import RowProgress
from wavescope.model.source import Batch


def with_rows(ops: int, calls: int = 0) -> TraceMaker:
    maker = a_trace()
    for start in range(ops):
        maker.with_kernel("k", start, start + 1)
    for start in range(calls):
        maker.with_call("f", start, start + 1)
    return maker


def told(maker: TraceMaker, *tables: tuple[Table, list[Batch]]) -> list[tuple[int, int]]:
    steps: list[tuple[int, int]] = []
    rows = RowProgress(
        lambda *step: steps.append(step), [maker.builder], [table for table, _ in tables]
    )
    for table, batches in tables:
        passed = list(rows.followed(maker.builder, table, batches))
        assert all(one is other for one, other in zip(passed, batches, strict=True))
    return steps


def ids(*values: int) -> Batch:
    return {"id": np.array(values)}


def test_each_row_is_a_step() -> None:
    maker = with_rows(3, 2)

    assert told(maker, (OPS, [ids(1, 2), ids(3)]), (CALLS, [ids(1, 2)])) == [(2, 5), (3, 5), (5, 5)]


def test_rows_that_are_missing_before_between_and_behind_are_not_waited_for() -> None:
    maker = with_rows(100, 50)

    assert told(maker, (OPS, [ids(91, 92), ids(95, 96)]), (CALLS, [ids(50)])) == [
        (2, 2 + 8 + 50),
        (4, 4 + 4 + 50),
        (4, 4 + 50),
        (5, 5),
    ]


def test_a_table_without_any_is_done_with() -> None:
    assert told(with_rows(4, 1), (OPS, []), (CALLS, [ids(1)])) == [(0, 1), (1, 1)]


def test_tables_whose_ids_are_no_count_go_row_by_row() -> None:
    maker = a_trace()
    for gpu in range(3):
        maker.builder.add_row(AGENTS, gpu=gpu)

    assert told(maker, (AGENTS, [{"gpu": np.array([7])}, {"gpu": np.array([8, 9])}])) == [
        (1, 3),
        (3, 3),
    ]
