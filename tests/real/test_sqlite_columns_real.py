"""Every table of the real traces reads the same from pages, through SQL and by SELECT."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest

from tests.reference import dispatch_info as reference
from wavescope.formats.sqlite.sqlite_columns import (
    ColumnKind,
    ColumnRequest,
    open_cursor,
    parse_dispatch_info,
)
from wavescope.formats.sqlite.sqlite_open import quoted

FILES = ["rtl/hip_4gpu.db", "rtl/ctypes_markers.db", "rpd/synthetic_v3.rpd"]


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("native", [True, False])
def test_every_column_of_every_table(shared_data: Path, name: str, native: bool) -> None:
    path = shared_data / name
    with closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection:
        tables = connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")
        checked = [_check_table(connection, path, table, native) for (table,) in tables.fetchall()]

    assert sum(checked) > 900


def _check_table(connection: sqlite3.Connection, path: Path, table: str, native: bool) -> int:
    """The rows of the table, after comparing every column with what SELECT gives."""
    facts = connection.execute("SELECT name, upper(type) FROM pragma_table_info(?)", (table,))
    kinds = {
        name: ColumnKind.TEXT if _is_text(kind) else ColumnKind.INTEGER for name, kind in facts
    }
    requests = [ColumnRequest(column, kind) for column, kind in kinds.items()]
    with open_cursor(connection, path, table, requests, native=native) as cursor:
        block = cursor.read(10**6)
    for column, kind in kinds.items():
        rows = connection.execute(f"SELECT {quoted(column)} FROM {quoted(table)} ORDER BY rowid")
        expected = [value for (value,) in rows]
        if kind is ColumnKind.TEXT:
            assert block.texts(column).to_list() == ["" if v is None else str(v) for v in expected]
        else:
            filled = [-1 if value is None else value for value in expected]
            assert block.integers(column).tolist() == filled
    return block.row_count


def _is_text(declared: str) -> bool:
    return "CHAR" in declared or "TEXT" in declared or not declared


def test_dispatch_texts_of_a_real_run(shared_data: Path) -> None:
    path = shared_data / "rtl" / "hip_4gpu.db"
    requests = [ColumnRequest("completionSignal", ColumnKind.TEXT)]
    with (
        closing(sqlite3.connect(f"file:{path}?mode=ro&immutable=1", uri=True)) as connection,
        open_cursor(connection, path, "rocpd_op", requests) as cursor,
    ):
        texts = cursor.read(10**6).texts("completionSignal")

    fields = parse_dispatch_info(texts)

    assert fields[0].tolist() == [0x7ECD1E814000, 256, 1, 1, 1048832, 1, 1]
    assert np.array_equal(fields, reference.parse_dispatch_info(texts))
    assert (fields[:, 0] != -1).sum() == sum("hwq=0x" in text for text in texts.to_list())
