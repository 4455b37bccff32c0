"""Text columns hold, select and join texts without an object for each."""

from __future__ import annotations

import numpy as np
import pytest

from wavescope.formats.sqlite.text_column import TextColumn


def nullable(column: TextColumn) -> list[str | None]:
    nulls = column.nulls.tolist()
    return [None if null else text for text, null in zip(column.to_list(), nulls, strict=True)]


def test_text_columns() -> None:
    column = TextColumn.from_strings(["a", None, "grün", ""])

    assert column.to_list() == list(column) == ["a", "", "grün", ""]
    assert (column[2], column[-4], len(column)) == ("grün", "a", 4)
    assert column.nulls.tolist() == [False, True, False, False]
    assert nullable(column.take(np.array([2, 1, 2]))) == ["grün", None, "grün"]
    assert nullable(TextColumn.concatenated([column, TextColumn.repeated("r", 2)])) == [
        "a",
        None,
        "grün",
        "",
        "r",
        "r",
    ]
    assert nullable(TextColumn.concatenated([])) == []
    assert TextColumn(b"xyz", np.array([0, 1, 3])).to_list() == ["x", "yz"]
    with pytest.raises(IndexError):
        column[4]
