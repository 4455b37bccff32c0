"""Sparse tables beside others: values by id, whatever rows are missing on either side."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import numpy as np

from wavescope.formats.sqlite.side_table import SideTable
from wavescope.formats.sqlite.sqlite_columns import ColumnKind, ColumnRequest, open_cursor
from wavescope.model.columns import OPS

STREAM = OPS.column("stream")
"""Any column of integers: -1 where nothing is known."""


def aligned(path: Path, own_ids: list[int], blocks: list[list[int]]) -> list[list[int]]:
    """For each block of ids the values beside it; the value of each row is its id times ten."""
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE beside (id INTEGER PRIMARY KEY, stream INTEGER)")
    connection.executemany("INSERT INTO beside VALUES (?, ?)", [(id_, id_ * 10) for id_ in own_ids])
    connection.commit()
    names = ("id", STREAM.stored_as)
    requests = [ColumnRequest(name, ColumnKind.INTEGER) for name in names]
    cursor = open_cursor(connection, path, "beside", requests)
    table = SideTable(cursor, "id")
    found = [table.aligned(np.array(ids), [STREAM])[STREAM.stored_as].tolist() for ids in blocks]
    cursor.close()
    connection.close()
    return found


def test_equal_ids_have_all_values(tmp_path: Path) -> None:
    found = aligned(tmp_path / "a.db", [1, 2, 3, 4, 5], [[1, 2, 3], [4, 5]])

    assert found == [[10, 20, 30], [40, 50]]


def test_ids_without_a_row_have_the_missing_value(tmp_path: Path) -> None:
    found = aligned(tmp_path / "a.db", [2, 7], [[1, 2, 3], [4, 7], [8]])

    assert found == [[-1, 20, -1], [-1, 70], [-1]]


def test_rows_of_ids_that_are_gone_are_passed_over(tmp_path: Path) -> None:
    found = aligned(tmp_path / "a.db", list(range(1, 51)), [[10, 20], [21], [40, 49, 50]])

    assert found == [[100, 200], [210], [400, 490, 500]]
